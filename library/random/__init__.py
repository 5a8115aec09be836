"""`lamina.random`: counter-based random numbers; `namespace.py` puts it together."""
