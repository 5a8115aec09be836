"""`lamina.lax`: functions under the names of jax.lax; `namespace.py` puts them together."""
