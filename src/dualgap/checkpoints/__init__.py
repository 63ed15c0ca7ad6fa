"""Runs in files: what decides how a run goes on, as named arrays and a text, and never as code."""
