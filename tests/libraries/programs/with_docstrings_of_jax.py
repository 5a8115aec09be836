"""The examples in the docstrings of jax's public functions."""

from __future__ import annotations

import docstrings
import jax
import jax.numpy as jnp
import numpy as np

MODULES = (
    *("jax", "jax.dtypes", "jax.image", "jax.lax", "jax.nn", "jax.nn.initializers", "jax.numpy", "jax.numpy.fft"),
    *("jax.numpy.linalg", "jax.ops", "jax.random", "jax.scipy.cluster.vq", "jax.scipy.fft", "jax.scipy.integrate"),
    *("jax.scipy.interpolate", "jax.scipy.linalg", "jax.scipy.ndimage", "jax.scipy.optimize", "jax.scipy.signal"),
    *("jax.scipy.sparse.linalg", "jax.scipy.special", "jax.scipy.stats", "jax.tree", "jax.tree_util"),
)
PROGRAMS = docstrings.programs(MODULES, {"jax": jax, "jnp": jnp, "np": np, "lax": jax.lax})
