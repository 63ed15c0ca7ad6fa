"""The theorems of Wang & Xiao (2017), held against the code."""
