"""lamina: a multi-level tensor compiler in Python.

>>> import numpy as np, lamina as lm
>>> lm.jit(lambda x: lm.numpy.tanh(x).sum())(np.zeros(4, np.float32))
array(0., dtype=float32)

Everything loads on first use: importing the package costs a few milliseconds.
"""

from __future__ import annotations

import os
from typing import Any

from .names import add_submodules, attach, load_module

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach("lamina")
add_submodules()


def load(path: str | os.PathLike[str], like: Any = None) -> Any:
    """Read a file: arrays that `save` wrote, or the functions of a shared object that `lamina-compile` wrote.

    Args:
        path: the path of the file; a name that ends in `.so` is a shared object. It is loaded without the compiler.
        like: for arrays, a tree with the expected structure, shapes and dtypes.

    Returns:
        A tree of arrays as `like`, a dict of arrays by name, or a `runtime.shared_object.SharedObject`:
        `lm.load("mlp.so").main(x)`.

    Raises:
        OSError: the file cannot be read.
        FileError: the arrays are damaged, or differ from `like`.
        ObjectError: the shared object is damaged, not ours, or for another machine.
    """
    if os.fspath(path).endswith(".so"):
        if like is not None:
            raise TypeError("load() of a shared object takes no like=")
        from .runtime.shared_object import load as load_object

        return load_object(path)
    return load_module("train.files").load(path, like)
