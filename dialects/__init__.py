"""The dialects: their ops, types and attributes, with text and meaning."""

from . import fast_ir, printing

# before anything is printed: xDSL's own printing of constants confuses 0.0 with -0.0, and cache keys are made of text
printing.install()
fast_ir.install()
