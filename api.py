"""The interface of the compiler for libraries of functions, ours (`library/`, `compat/`, `train/`) and others'.

Libraries import this module and each other, nothing else of the package; a test in `tests/meta` enforces it. The functions
that register ops, rules, kernels, passes and targets are in `lamina.extend` (docs/extending.md). The table `names.toml` lists
the names.
"""

from .names import attach

__getattr__, __dir__, __all__ = attach("api")
