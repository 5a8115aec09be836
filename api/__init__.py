"""The interface of the compiler for libraries of functions, ours (`library/`, `compat/`, `train/`) and others'.

Here are the functions that trace ops; what else a library needs is in modules by subject: `dtypes`, `errors`, `functions`,
`ops`, `programs`, `sizes`, `tracing`, `trees`. Libraries import these and each other, nothing else of the package; a test in
`tests/meta` enforces it. The functions that register ops, rules, kernels, passes and targets are in `lamina.extend`.
docs/extending.md describes each name, the table `names.toml` lists them.
"""

from ..names import attach

__getattr__, __dir__, __all__ = attach("api")
