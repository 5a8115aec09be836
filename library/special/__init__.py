"""`lamina.special`: special functions; `namespace.py` puts them together."""
