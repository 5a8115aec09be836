"""The functions that operators and methods of traced arrays, control flow and capture call: those of `lamina.numpy`.

The frontend imports no library of functions. It has one object, `arrays`, whose attributes are the functions of the library in
`PROVIDER`, which is imported when the first of them is requested: programs of graph ops alone never load it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from ...runtime.array import provide

PROVIDER = "...library.numpy.namespace"
"""The module with the functions, relative to this one: the one place where the frontend names a library."""

ArrayFunction = Callable[..., Any]


class ArrayFunctions(Protocol):
    """What the provider has: each is NumPy's function of the name, of arrays and of traced arrays."""

    abs: ArrayFunction
    add: ArrayFunction
    all: ArrayFunction
    any: ArrayFunction
    apply_along_axis: ArrayFunction
    arange: ArrayFunction
    argmax: ArrayFunction
    argmin: ArrayFunction
    array: ArrayFunction
    asarray: ArrayFunction
    astype: ArrayFunction
    choose: ArrayFunction
    clip: ArrayFunction
    compress: ArrayFunction
    concatenate: ArrayFunction
    conj: ArrayFunction
    conjugate: ArrayFunction
    dot: ArrayFunction
    equal: ArrayFunction
    eye: ArrayFunction
    imag: ArrayFunction
    logical_and: ArrayFunction
    logical_not: ArrayFunction
    logical_or: ArrayFunction
    matmul: ArrayFunction
    matrix_transpose: ArrayFunction
    max: ArrayFunction
    maximum: ArrayFunction
    mean: ArrayFunction
    median: ArrayFunction
    min: ArrayFunction
    minimum: ArrayFunction
    moveaxis: ArrayFunction
    negative: ArrayFunction
    nonzero: ArrayFunction
    not_equal: ArrayFunction
    partition: ArrayFunction
    prod: ArrayFunction
    ptp: ArrayFunction
    ravel: ArrayFunction
    real: ArrayFunction
    reshape: ArrayFunction
    round: ArrayFunction
    shape: ArrayFunction
    sort: ArrayFunction
    sqrt: ArrayFunction
    squeeze: ArrayFunction
    stack: ArrayFunction
    std: ArrayFunction
    subtract: ArrayFunction
    sum: ArrayFunction
    swapaxes: ArrayFunction
    take: ArrayFunction
    transpose: ArrayFunction
    trunc: ArrayFunction
    ufunc: ArrayFunction
    var: ArrayFunction
    vdot: ArrayFunction
    view: ArrayFunction
    where: ArrayFunction
    zeros: ArrayFunction
    zeros_like: ArrayFunction

    __all__: Sequence[str]
    """The public names."""

    linalg: Any
    """The namespace of linear algebra."""

    At: ArrayFunction
    """`x.at` of an array: `At(x)[index].set(values)`."""

    getitem: ArrayFunction
    """`x[index]` of a traced array."""

    function_counterpart: ArrayFunction
    """The function that stands for one of NumPy's, which NumPy calls by `__array_function__`."""

    ufunc_counterpart: ArrayFunction
    """The function, or the method, that stands for a universal function of NumPy."""


class _Provided:
    """The provider's functions, kept as attributes once they were requested."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        value = getattr(importlib.import_module(PROVIDER, __package__), name)
        setattr(self, name, value)
        return value


arrays: ArrayFunctions = cast("ArrayFunctions", _Provided())
provide(arrays)
