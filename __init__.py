"""lamina: a multi-level tensor compiler in Python."""
