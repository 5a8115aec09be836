"""Symbolic sizes: polynomials of symbols, their bounds and text, and the values that arguments bind symbols to."""
