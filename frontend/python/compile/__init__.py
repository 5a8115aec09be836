"""`lm.compile`: any Python function as graphs with Python between them."""
