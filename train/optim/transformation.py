"""Gradient transformations: pairs of pure functions, which are composed to optimizers.

Parameters are any tree of arrays, as a `Module` or dicts. A gradient is None where a leaf is not differentiated
(buffers and integers of a module, as `lm.grad` leaves them); there updates and states are None too, and the parameter is
unchanged.

Moments are kept in float32 for parameters of narrower floats, and updates are added in it. Numbers that depend on the step
(rates, corrections of bias) are computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...api import trees
from ...api.dtypes import is_complex_dtype
from ...api.errors import ShapeError
from ...api.functions import traced_once, trainable
from ...api.tracing import is_staging
from ...library.numpy import namespace as lnp

Tree = Any


class Optimizer(NamedTuple):
    """How parameters follow their gradients: two pure functions, which can be called in `lm.jit`.

    Attributes:
        init: from parameters, the state at first.
        update: from gradients, a state and the parameters, the updates (added to the parameters) and the next state.

    >>> import lamina as lm, numpy as np
    >>> optimizer = lm.train.optim.sgd(0.1)
    >>> params = {"w": np.float32([1, 2])}
    >>> state = optimizer.init(params)
    >>> updates, state = optimizer.update({"w": np.float32([1, 1])}, state, params)
    >>> lm.train.optim.apply_updates(params, updates)
    {'w': array([0.9, 1.9], dtype=float32)}
    """

    init: Callable[[Tree], Tree]
    update: Callable[[Tree, Tree, Tree], tuple[Tree, Tree]]

    def step(self, grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        """The next parameters and state: `update`, then `apply_updates`."""
        updates, state = self.update(grads, state, params)
        return apply_updates(params, updates), state


class Step(NamedTuple):
    """How many updates there were."""

    count: Any


class Empty(NamedTuple):
    """The state of a stateless transformation."""


def is_none(x: Any) -> bool:
    """Whether a leaf is one that nothing is differentiated by."""
    return x is None


def map_updates(function: Callable[..., Any], tree: Tree, *rest: Tree) -> Tree:
    """The tree of `function(leaf, ...)`, with None where the first tree has it. Under trace, leaves of which many are alike, as
    those of layers, are computed by one function of the program: it is traced once."""
    rows: list[tuple[Any, ...]] = []
    if is_staging():
        trees.map(lambda *row: rows.append(row), tree, *rest, is_leaf=is_none)
    called = traced_once(function, rows, WORTH_A_FUNCTION, "update")
    return trees.map(lambda x, *others: None if x is None else called(x, *others), tree, *rest, is_leaf=is_none)


WORTH_A_FUNCTION = 4
"""Number of similar leaves from which on their computation is traced as a function."""


def moments(params: Tree) -> Tree:
    """Zeros for each differentiated leaf, in float32 or wider; None for the others."""
    leaves, structure = trees.flatten(params)
    zeros = [
        lnp.zeros(np.shape(x), wide(as_array(x).dtype)) if here else None
        for x, here in zip(leaves, trainable(params), strict=True)
    ]
    return structure.unflatten(zeros)


def wide(dtype: Any) -> np.dtype[Any]:
    """The dtype of a moment of a parameter."""
    found: np.dtype[Any] = np.dtype(dtype)
    return found if found.itemsize >= 4 else np.dtype(np.float32)


def as_array(x: Any) -> Any:
    """The array that a number stands for."""
    return x if hasattr(x, "dtype") else lnp.asarray(x)


def widened(x: Any) -> Any:
    """A gradient in the dtype of its moment."""
    x = as_array(x)
    return x if x.dtype == (dtype := wide(x.dtype)) else lnp.asarray(x, dtype=dtype)


def next_step(count: Any) -> Any:
    """`count + 1`, an int32."""
    return lnp.asarray(count, dtype=np.int32) + np.int32(1)


def like(factor: Any, x: Any) -> Any:
    """A number in the (real) dtype of an array, so that a product with it keeps that dtype."""
    dtype = np.dtype(x.dtype)
    real = np.dtype(f"f{dtype.itemsize // 2}") if is_complex_dtype(dtype) else dtype
    known = np.asarray(factor, real) if type(factor) in (int, float) else factor  # no op for each leaf of a tree
    return lnp.asarray(known, dtype=real)


def apply_updates(params: Tree, updates: Tree) -> Tree:
    """Parameters plus updates, in the parameters' dtypes; parameters without an update are unchanged.

    Raises:
        ValueError: the trees differ in structure.
        ShapeError: an update has another shape than its parameter.
    """

    def moved(update: Any, param: Any) -> Any:
        if update is None:
            return param
        param = as_array(param)
        if np.shape(update) != np.shape(param):
            raise ShapeError(f"an update has shape {list(np.shape(update))}, its parameter {list(np.shape(param))}")
        return (widened(param) + update).astype(param.dtype)

    return trees.map(moved, updates, params, is_leaf=is_none)


def stateless(function: Callable[[Any, Any], Any], needs_params: bool = False) -> Optimizer:
    """A transformation of each update (and its parameter) alone."""

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        if needs_params:
            return map_updates(function, updates, params), state
        return map_updates(lambda g: function(g, None), updates), state

    return Optimizer(lambda params: Empty(), update)


def chain(*parts: Optimizer) -> Optimizer:
    """The transformation that passes gradients through all parts in order; its state is the tuple of theirs.

    >>> import lamina as lm
    >>> optimizer = lm.train.optim.chain(lm.train.optim.clip_by_global_norm(1.0), lm.train.optim.adam(1e-3))
    """

    def init(params: Tree) -> tuple[Tree, ...]:
        return tuple([part.init(params) for part in parts])

    def update(updates: Tree, states: tuple[Tree, ...], params: Tree = None) -> tuple[Tree, tuple[Tree, ...]]:
        if not isinstance(states, tuple) or len(states) != len(parts):
            raise ValueError(f"the state is not of this optimizer, which has {len(parts)} parts: got {states!r:.80}")
        after = []
        for part, state in zip(parts, states, strict=True):
            updates, state = part.update(updates, state, params)
            after.append(state)
        return updates, tuple(after)

    return Optimizer(init, update)
