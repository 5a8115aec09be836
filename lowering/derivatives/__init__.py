"""Derivatives and batches of kernels: loop nests made from loop nests."""
