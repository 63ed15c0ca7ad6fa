"""What compiles kernels, keeps them for the next time, and counts the seconds that this takes."""
