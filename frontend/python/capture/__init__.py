"""Control flow captured from source: rewrites a traced function where Python would need the value of a traced array."""
