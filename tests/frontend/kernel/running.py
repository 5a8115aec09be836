"""Running one kernel in three ways: as plain Python on NumPy arrays, as interpreted loop IR, as machine code."""

from __future__ import annotations

import inspect
import types
import zlib
from collections.abc import Mapping
from typing import Any

import lamina as lm
import numpy as np
from lamina.codegen.targets import get
from lamina.errors import KernelError
from lamina.executor.kernels import find_kernel
from lamina.frontend.kernel.annotations import ArrayType, Size
from lamina.frontend.kernel.build import build_kernel
from lamina.frontend.kernel.schedules import Schedule, default_schedule
from lamina.runtime.interpreter import Interpreter
from lamina.runtime.module_signatures import kernel_signature_of
from lamina.runtime.signature import ArrayParam

_compiled: dict[Any, Any] = {}


def compiled(function: Any) -> Any:
    """The kernel of a function, made once."""
    if function not in _compiled:
        _compiled[function] = lm.kernel(function)
    return _compiled[function]


def default_steps(function: Any, target: str) -> Schedule:
    """The default schedule of a function for a target, which need not be this machine."""
    return default_schedule(build_kernel(function), get(target))


def parameters(function: Any) -> dict[str, Any]:
    """The annotations, evaluated where they are text."""
    return inspect.get_annotations(function, eval_str=True)


def arguments(function: Any, sizes: Mapping[str, int], given: Mapping[str, Any]) -> list[Any]:
    """Random arguments of a kernel: arrays of these sizes, integers from -9 to 9; `given` ones are made by calling them."""
    rng = np.random.default_rng(zlib.crc32(f"{function.__name__} {sizes}".encode()))
    made: list[Any] = []
    for name, type in parameters(function).items():
        shape: tuple[int, ...] = ()
        if isinstance(type, ArrayType):
            shape = tuple((sizes[s.symbol] if s.symbol else 0) + s.constant for s in type.sizes)
        dtype = (type.element if isinstance(type, ArrayType) else type).dtype
        if name in given:
            value = given[name]
            value = np.asarray(value(shape, rng) if callable(value) else value).astype(dtype)
        elif dtype.kind == "f":
            value = rng.standard_normal(shape).astype(dtype) if shape else np.array(rng.standard_normal(), dtype)
        else:
            low, high = (0, 2) if dtype.kind == "b" else (-9, 10)
            value = np.asarray(rng.integers(low, high, shape)).astype(dtype)
        made.append(value if isinstance(type, ArrayType) else value.item())
    return made


def symbols_of(function: Any, args: list[Any]) -> dict[str, int]:
    """What the sizes and strides are for these arguments."""
    found: dict[str, int] = {}
    for (name, type), arg in zip(parameters(function).items(), args, strict=True):
        if isinstance(type, ArrayType):
            found |= {s.symbol: n - s.constant for s, n in zip(type.sizes, arg.shape, strict=True) if s.symbol}
            for k, (stride, step) in enumerate(zip(type.strides or (), arg.strides, strict=False)):
                spelled = stride or Size(f"{name}_s{'abcdefgh'[k]}")
                if spelled.symbol:
                    found.setdefault(spelled.symbol, step // arg.itemsize - spelled.constant)
    return found


def scalar(arg: Any, type: Any) -> Any:
    """A number of the type that a scalar parameter has."""
    return arg if isinstance(type, ArrayType) else type.dtype.type(arg)


def _copies(args: list[Any]) -> list[Any]:
    """Copies that lie in memory as the originals."""
    made = []
    for arg in args:
        if isinstance(arg, np.ndarray) and not arg.flags.c_contiguous:
            base = arg if arg.base is None else arg.base
            copy = base.copy()
            offset = arg.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            view = np.ndarray(arg.shape, arg.dtype, copy.data, offset, arg.strides)
            made.append(view)
        else:
            made.append(arg.copy() if isinstance(arg, np.ndarray) else arg)
    return made


def by_python(function: Any, args: list[Any]) -> list[Any]:
    """The arguments after Python ran the function; sizes are given to it as globals."""
    copies = _copies(args)
    names = {**function.__globals__, **symbols_of(function, args)}
    plain = types.FunctionType(function.__code__, names, function.__name__, None, function.__closure__)
    with np.errstate(all="ignore"):
        plain(*(scalar(arg, type) for arg, type in zip(copies, parameters(function).values(), strict=True)))
    return copies


def by_interpreter(function: Any, args: list[Any]) -> list[Any]:
    """The arguments after the kernel's IR was interpreted."""
    module = compiled(function).module
    module.verify()
    kernel = find_kernel(module)
    signature = kernel_signature_of(kernel)
    found: dict[str, int] = {}
    for param, arg in zip(signature.params, args, strict=True):
        if isinstance(param, ArrayParam):
            steps = [step // arg.itemsize for step in arg.strides] if param.strides else []
            for dim, size in zip((*param.dims, *(param.strides or ())), (*arg.shape, *steps), strict=True):
                if dim.symbol is not None:
                    found.setdefault(signature.symbols[dim.symbol], size - dim.constant)
    copies = _copies(args)
    typed = [
        arg if isinstance(arg, np.ndarray) else np.dtype(param.dtype).type(arg)
        for arg, param in zip(copies, signature.params, strict=True)
    ]
    Interpreter(module).launch(kernel.sym_name.data, [*typed, *(found[name] for name in signature.symbols)])
    return copies


def natively(function: Any, args: list[Any], **options: Any) -> list[Any]:
    """The arguments after machine code ran."""
    copies = _copies(args)
    compiled(function)(*copies, **options)
    return copies


def agree(got: list[Any], want: list[Any], exact: bool = False) -> None:
    """Integers are equal, floats up to rounding."""
    for one, other in zip(got, want, strict=True):
        if not isinstance(other, np.ndarray):
            continue
        if other.dtype.kind != "f" or exact:
            np.testing.assert_array_equal(one, other)
        else:
            rtol, atol = (3e-5, 3e-6) if other.dtype == np.float32 else (1e-12, 1e-13)
            np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def check(function: Any, args: list[Any]) -> None:
    """All three agree; machine code and interpreter up to the last bits of `exp` and its like."""
    want = by_python(function, args)
    agree(natively(function, args), want)
    agree(by_interpreter(function, args), want)


__all__ = ["KernelError", "agree", "arguments", "build_kernel", "by_interpreter", "by_python", "check", "compiled", "natively"]
