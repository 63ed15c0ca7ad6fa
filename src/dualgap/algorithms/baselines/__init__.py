"""What the paper compares with: methods by others, written as it writes them."""
