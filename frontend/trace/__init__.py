"""Tracing: traced arrays, the program that a trace records, promotion, trees of arrays, options."""
