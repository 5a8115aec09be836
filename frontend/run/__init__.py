"""Ways to run a traced program: compiled by `jit`, eagerly, lazily, or recorded."""
