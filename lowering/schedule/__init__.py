"""Schedule primitives: one per file."""
