"""Calls outside of `jit`: each runs at once, or waits, or is recorded."""
