"""Sizes that only a call knows: polynomials of symbols, their bounds and text, and what arguments bind symbols to."""
