"""What the checks raise."""


class LawError(ValueError):
    """A law that a value breaks, named, with the numbers that show it."""
