"""`lamina.nn`, a file for each family of functions; `namespace.py` puts them together."""
