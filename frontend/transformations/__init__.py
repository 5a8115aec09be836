"""Functions of functions: derivatives, batching, and rules that users give for them."""
