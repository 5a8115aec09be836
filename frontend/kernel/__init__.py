"""Kernels written in Python: from the source of a function to loop IR."""
