"""Control flow captured from source: the function that `jit` traces where Python would ask a traced array for its value."""
