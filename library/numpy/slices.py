"""lamina.numpy: functions of slices. Imported when they are first used, since they are made of `vmap`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection
from typing import Any

from ...api.errors import ShapeError
from ...api.functions import vmap
from .axes_and_shapes import normalize_axis
from .elementwise import broadcast_shapes
from .shape import broadcast_to, moveaxis, ndim, shape


def _over_leading(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function over `count` leading dims of its arguments."""
    for _ in range(count):
        function = vmap(function)
    return function


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """`np.apply_along_axis`: a function of every vector along an axis; the dims of its result replace the axis."""
    dim, rest = normalize_axis(axis, ndim(arr)), ndim(arr) - 1
    result = _over_leading(lambda row: func1d(row, *args, **kwargs), rest)(moveaxis(arr, dim, -1))
    count = ndim(result) - rest
    return moveaxis(result, [rest + k for k in range(count)], [dim + k for k in range(count)])


def vectorize(pyfunc: Callable[..., Any], *, excluded: Collection[int] = (), signature: str | None = None) -> Any:
    """`jnp.vectorize`: a function of single elements, or of the dims that `signature` names, over the broadcast others.

    Args:
        excluded: positions of arguments that are passed as they are.
        signature: as `"(m,n),(n)->(m)"`, the last dims of each argument and result that the function itself gets.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(np.ones((3, 4)), np.ones(4))
    array([4., 4., 4.])
    """
    cores = None if signature is None else re.findall(r"\(([^)]*)\)", signature.partition("->")[0])

    @functools.wraps(pyfunc)
    def wrapper(*args: Any) -> Any:
        moving = [k for k in range(len(args)) if k not in excluded]
        if cores is not None and len(cores) != len(moving):
            raise ShapeError(f"vectorize signature {signature!r} has {len(cores)} arguments, the call has {len(moving)}")
        counts = [0] * len(moving) if cores is None else [len(core.split(",")) if core.strip() else 0 for core in cores]
        shapes = [shape(args[k]) for k in moving]
        if any(len(s) < n for s, n in zip(shapes, counts, strict=True)):
            raise ShapeError(f"vectorize signature {signature!r} needs arguments of more dims, got shapes {shapes}")
        outer = [s[: len(s) - n] for s, n in zip(shapes, counts, strict=True)]
        common = broadcast_shapes(outer)
        given = [broadcast_to(args[k], common + s[len(o) :]) for k, s, o in zip(moving, shapes, outer, strict=True)]

        def of_elements(*some: Any) -> Any:
            whole = list(args)
            for k, x in zip(moving, some, strict=True):
                whole[k] = x
            return pyfunc(*whole)

        return _over_leading(of_elements, len(common))(*given)

    return wrapper
