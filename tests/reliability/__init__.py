"""Does it stand up to what people do to it: bad input, extreme input, interruption, threads."""
