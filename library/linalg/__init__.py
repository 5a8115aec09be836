"""`lamina.linalg`: linear algebra; `namespace.py` puts it together."""
