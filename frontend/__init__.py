"""From Python to graph and loop IR: tracing, functions of functions, ways to run a program, Python's source, kernels."""
