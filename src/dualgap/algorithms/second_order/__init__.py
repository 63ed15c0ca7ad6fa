"""Newton's methods, which go beyond the paper."""
