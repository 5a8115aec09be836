"""The loop dialect: kernels over memrefs with explicit loops."""
