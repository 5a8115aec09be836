"""Numerical algorithms as kernels, one file for each op or family: the loops of ops of matrices (docs/architecture.md).

A file registers its kernels when it is imported, which the lowering does for the first op that names it.
"""
