"""lamina.numpy: universal functions of users' functions of numbers. Imported when first used: they are made of loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...api.errors import ShapeError
from ...api.functions import fori_loop, scan
from .at import At
from .axes_and_shapes import normalize_axes, normalize_axis
from .create import asarray, full
from .index import take
from .join import concatenate
from .logic import where
from .shape import broadcast_to, expand_dims, moveaxis, ravel, reshape
from .slices import vectorize


class ufunc:
    """A function of numbers that broadcasts, with the methods of NumPy's universal functions; as `jnp.ufunc`.

    Made by `frompyfunc`. `reduce` and `accumulate` are loops over the axis in its order; no function is assumed to be
    associative.

    Attributes:
        nin, nout, nargs: how many arguments and results, and both.
        identity: the result of `reduce` for no elements; None where there is none.
    """

    def __init__(self, func: Callable[..., Any], nin: int, nout: int, *, identity: Any = None):
        self._function, self.nin, self.nout, self.identity = func, nin, nout, identity
        self.nargs = nin + nout
        self.__name__ = getattr(func, "__name__", "ufunc")
        self.__doc__ = func.__doc__
        self._mapped = vectorize(func)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r} (nin={self.nin}, nout={self.nout})>"

    def __call__(self, *args: Any) -> Any:
        """The results for all elements of arguments that broadcast.

        Raises:
            TypeError: another number of arguments.
        """
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__}() takes {self.nin} arguments, got {len(args)}")
        return self._mapped(*map(asarray, args))

    def _binary(self, method: str) -> None:
        if (self.nin, self.nout) != (2, 1):
            raise TypeError(f"{self.__name__}.{method}() needs a function of two arguments and one result, it has {self!r}")

    def reduce(
        self,
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """All elements along an axis, or several, or all (None): `f(f(a[0], a[1]), a[2])`, from `initial` where it is given.

        Raises:
            ShapeError: no elements, or `where`, without an identity or an initial value.
            TypeError: not a function of two arguments.
        """
        self._binary("reduce")
        x = asarray(a) if dtype is None else asarray(a).astype(dtype)
        dims = sorted(normalize_axes(axis, x.ndim))
        rest = [n for d, n in enumerate(x.shape) if d not in dims]
        rows = reshape(moveaxis(x, dims, list(range(len(dims)))), (-1, *rest)) if x.size else full((0, *rest), 0, x.dtype)
        mask = None
        if where is not None:
            mask = reshape(moveaxis(broadcast_to(where, x.shape), dims, list(range(len(dims)))), rows.shape)
        first = self.identity if initial is None else initial
        if first is None and (mask is not None or not rows.shape[0]):
            raise ShapeError(f"{self.__name__}.reduce() of no elements, or with where=, needs initial= or an identity")
        if first is None:
            first, rows = rows[0], rows[1:]
        start = broadcast_to(asarray(first).astype(x.dtype), tuple(rest))
        total = fori_loop(0, rows.shape[0], lambda k, y: self._step(y, rows, mask, k), start) if rows.shape[0] else start
        return expand_dims(total, tuple(dims)) if keepdims else total

    def _step(self, total: Any, rows: Any, mask: Any, k: Any) -> Any:
        found = self(total, take(rows, k, 0)).astype(total.dtype)
        return found if mask is None else where(take(mask, k, 0), found, total)

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """The result of `reduce` after each element along an axis."""
        self._binary("accumulate")
        x = asarray(a) if dtype is None else asarray(a).astype(dtype)
        dim = normalize_axis(axis, x.ndim)
        rows = moveaxis(x, dim, 0)
        if rows.shape[0] < 2:
            return x

        def step(total: Any, row: Any) -> tuple[Any, Any]:
            total = self(total, row).astype(x.dtype)
            return total, total

        return moveaxis(concatenate([rows[:1], scan(step, rows[0], rows[1:])[1]]), 0, dim)

    def outer(self, A: Any, B: Any, /) -> Any:
        """The results for all pairs of elements, of shape `A.shape + B.shape`."""
        self._binary("outer")
        x, y = asarray(A), asarray(B)
        return self(reshape(x, (*x.shape, *(1,) * y.ndim)), y)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """The array with the elements at `indices` replaced, one after the other, with `inplace=False`."""
        if inplace:
            raise NotImplementedError(f"{self.__name__}.at() changes no array: say inplace=False")
        x = asarray(a)
        places = reshape(np.arange(x.size), x.shape)[indices if isinstance(indices, tuple) else (asarray(indices),)]
        flat, order = ravel(x), ravel(places)
        values = [] if b is None else [ravel(broadcast_to(b, places.shape))]

        def step(k: Any, y: Any) -> Any:
            at = take(order, k)
            return At(y)[at].set(self(take(y, at), *(take(v, k) for v in values)).astype(x.dtype))

        return reshape(fori_loop(0, order.size, step, flat) if order.size else flat, x.shape)

    def reduceat(self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """`reduce` of the elements from each index to the next one; for an index that is not below the next, its element."""
        self._binary("reduceat")
        x = asarray(a) if dtype is None else asarray(a).astype(dtype)
        dim = normalize_axis(axis, x.ndim)
        rows, starts = moveaxis(x, dim, 0), asarray(indices)
        ends = concatenate([starts[1:], full((1,), rows.shape[0], starts.dtype)])

        def step(k: Any, total: Any) -> Any:
            inside = reshape((k > starts) & (k < ends), (-1, *(1,) * (rows.ndim - 1)))
            return where(inside, self(total, take(rows, k, 0)).astype(x.dtype), total)

        return moveaxis(fori_loop(0, rows.shape[0], step, take(rows, starts, 0)), 0, dim)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """`jnp.frompyfunc`: the universal function of a function of `nin` numbers with `nout` results.

    >>> import numpy as np, lamina as lm
    >>> horner = lm.numpy.frompyfunc(lambda a, b: 2 * a + b, 2, 1, identity=0)
    >>> horner.reduce(np.array([1, 0, 1])), horner.accumulate(np.array([1, 0, 1]))
    (array(5), array([1, 2, 5]))
    """
    return ufunc(func, nin, nout, identity=identity)
