"""Kernels for several element types: one for each that calls have."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from ...errors import KernelError
from .annotations import COMPLEX, ELEMENTS, ArrayType, RealPart, ScalarType, TypeVariable


class GenericKernel:
    """A kernel whose parameters have type variables: each call runs the one for the element types of its arrays.

    >>> import numpy as np, lamina as lm
    >>> T = lm.dtype("T")
    >>> @lm.kernel
    ... def twice(x: T["N"]):
    ...     for i in range(len(x)):
    ...         x[i] = x[i] + x[i]
    >>> x, n = np.ones(2, np.float32), np.array([3])
    >>> twice(x), twice(n)
    (None, None)
    >>> x, n
    (array([2., 2.], dtype=float32), array([6]))
    """

    __wrapped__: Any  # the function in Python, by `update_wrapper`

    def __init__(self, function: Callable[..., Any], variables: Mapping[str, TypeVariable], make: Callable[..., Any]):
        functools.update_wrapper(self, function)
        self._function, self._variables, self._make = function, dict(variables), make
        self._made: dict[tuple[ScalarType, ...], Any] = {}
        self._by_dtype = {element.dtype: element for element in (*ELEMENTS, *COMPLEX)}

    def specialize(self, **chosen: ScalarType) -> Any:
        """The kernel for element types, as `k.specialize(T=lm.f32)`: it has `schedule()`, `as_text()` and so on.

        Raises:
            KernelError: a variable is missing, or has no such type.
        """
        variables = list(dict.fromkeys(self._variables.values()))
        names = [variable.name for variable in variables]
        if sorted(chosen) != sorted(names):
            raise KernelError(f"kernel '{self._function.__name__}' takes types for {', '.join(names)}, got {', '.join(chosen)}")
        key = tuple(chosen[name] for name in names)
        if key not in self._made:
            for variable, element in zip(variables, key, strict=True):
                if variable.choices and element not in variable.choices:
                    rule = f"{variable.name} is one of {', '.join(c.name for c in variable.choices)}"
                    raise KernelError(f"kernel '{self._function.__name__}': {rule}, got {element.name}")
            made = specialized(self._function, dict(zip(variables, key, strict=True)))
            self._made[key] = self._make(made)
        return self._made[key]

    def for_types(self, types: Sequence[Attribute]) -> Any:
        """The kernel for the element types of its parameters; None where they differ under one name, or it has none such."""
        chosen: dict[str, ScalarType] = {}
        by_type = {element.type: element for element in self._by_dtype.values()}
        for name, type in zip(self._function.__annotations__, types, strict=False):
            if (variable := self._variables.get(name)) is None:
                continue
            element = by_type.get(type)
            if element is None or chosen.setdefault(variable.name, element) is not element:
                return None
            if variable.choices and element not in variable.choices:
                return None
        return self.specialize(**chosen)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(self._function.__code__.co_varnames, args, strict=False)) | kwargs
        chosen: dict[str, ScalarType] = {}
        for name, variable in self._variables.items():
            value = given.get(name)
            if variable.name in chosen or not isinstance(value, np.ndarray | np.generic):
                continue
            dtype = value.dtype
            if dtype not in self._by_dtype:
                where = f"kernel '{self._function.__name__}' argument '{name}'"
                raise TypeError(f"{where}: {variable.name} is an element type of kernels, got {dtype}")
            chosen[variable.name] = self._by_dtype[dtype]
        missing = [v.name for v in self._variables.values() if v.name not in chosen]
        if missing:
            raise TypeError(f"kernel '{self._function.__name__}': no array of the call says what {missing[0]} is")
        return self.specialize(**chosen)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<lamina function {self._function.__name__} of {', '.join(v.name for v in self._variables.values())}>"


def variables_of(function: Callable[..., Any]) -> dict[str, TypeVariable]:
    """The type variables of the parameters that have any, read from annotations or from their text."""
    names = {**getattr(function, "__globals__", {})}
    code = getattr(function, "__code__", None)
    for name, cell in zip(code.co_freevars if code else (), getattr(function, "__closure__", None) or (), strict=False):
        names[name] = getattr(cell, "cell_contents", None)
    known = {name: value for name, value in names.items() if isinstance(value, TypeVariable)}
    found: dict[str, TypeVariable] = {}
    for parameter, annotation in getattr(function, "__annotations__", {}).items():
        element = annotation.element if isinstance(annotation, ArrayType) else annotation
        if isinstance(element, str):
            element = known.get(element.strip("'\"").partition("[")[0].strip())
        if isinstance(element, TypeVariable) and not isinstance(element, RealPart):
            found[parameter] = element
    return found


def specialized(function: Any, chosen: Mapping[TypeVariable, ScalarType]) -> Any:
    """The function with element types in place of type variables."""

    def one(value: Any) -> Any:
        if isinstance(value, ArrayType):
            return dataclasses.replace(value, element=one(value.element))
        if isinstance(value, RealPart):
            return chosen[value.whole].real if value.whole in chosen else value
        return chosen.get(value, value) if isinstance(value, TypeVariable) else value

    names = {name: one(value) for name, value in function.__globals__.items()}
    closure = None
    if function.__closure__ is not None:
        closure = tuple(types.CellType(one(c.cell_contents)) if _holds_variable(c) else c for c in function.__closure__)
    made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure)
    made.__annotations__ = {name: one(value) for name, value in function.__annotations__.items()}
    made.__module__, made.__qualname__, made.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return made


def _holds_variable(cell: Any) -> bool:
    try:
        return isinstance(cell.cell_contents, TypeVariable)
    except ValueError:  # not assigned yet
        return False
