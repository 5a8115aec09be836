"""What exists: the graph and loop dialects."""
