"""The only loop: what begins a run, steps it, shows it, and proves its end."""
