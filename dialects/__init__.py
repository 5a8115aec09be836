"""The dialects: their ops, types and attributes, with text and meaning."""

from . import xdsl_patches

# before anything is printed: xDSL's own printing of constants confuses 0.0 with -0.0, and cache keys are made of text
xdsl_patches.install()
