"""Python to graph IR: tracing, the NumPy-like API, pytrees, jit and grad."""
