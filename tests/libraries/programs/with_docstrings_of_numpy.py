"""The examples in the docstrings of NumPy's functions that lamina.numpy has, run on it in NumPy's place."""

from __future__ import annotations

import docstrings
import jax
import lamina as lm
import numpy

SPACES = {"numpy": lm.numpy, "numpy.linalg": lm.linalg, "numpy.fft": lm.fft}
STANDS_IN = "stand_in" in str(jax.__file__)
if STANDS_IN:
    lm.config.update(promotion="numpy", x64=True)

PROGRAMS = {
    name: program
    for name, program in docstrings.programs((*SPACES,), {"np": lm.numpy if STANDS_IN else numpy}).items()
    if name.rpartition(".")[2] in SPACES[name.rpartition(".")[0]].__all__
}
