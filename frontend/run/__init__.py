"""Ways to run a traced program: compiled by `jit`, called at once, later, or recorded."""
