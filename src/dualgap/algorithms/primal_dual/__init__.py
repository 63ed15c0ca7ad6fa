"""The paper's algorithms, with their schedules, adaptation, monitor and sampling."""
