"""Passes on graphs that choose an algorithm for a machine: they use the target and the cost models of `lowering`."""
