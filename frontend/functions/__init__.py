"""Transformations of functions: derivatives, batching, custom rules, control flow, effects."""
