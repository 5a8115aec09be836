"""Shared objects of `lamina-compile` in Python, without the compiler: NumPy, ctypes, and the metadata in the object.

A file is read before it is loaded: one that is damaged, foreign, or for another machine is refused while it is still data.
"""

from __future__ import annotations

import ast
import ctypes
import hashlib
import json
import os
import platform
import sys
import threading
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"LAMINA-OBJECT\x01\0\0"
DIGEST_BYTES = 32
_ALIGNMENT = 64
_CTYPES = {
    **{f"{sign}int{bits}": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}


class ObjectError(Exception):
    """A shared object that cannot be loaded, or a call that it refused."""


def load(path: str | os.PathLike[str]) -> SharedObject:
    """Load a shared object that `lamina-compile` wrote, or that was linked from its objects.

    Args:
        path: of the `.so`. Weights that stand in a file of their own are looked for beside it.

    Returns:
        An object with a method for each function: `load("mlp.so").main(x)`. One with a single function can be called itself.

    Raises:
        ObjectError: the file is damaged, not ours, or for another machine.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ObjectError(f"cannot read {path}: {error.strerror}") from None
    described = _described(path, data)
    try:
        library = ctypes.CDLL(str(path.resolve()))
    except OSError as error:
        raise ObjectError(f"cannot load {path}: {error}") from None
    for one in described:
        _give_weights(path, library, one)
    return SharedObject(path.name, _Library(library), described)


def _described(path: Path, data: bytes) -> list[dict[str, Any]]:
    """The metadata of a file, checked."""
    if data[:4] != b"\x7fELF":
        raise ObjectError(f"{path} is no shared object")
    found: list[dict[str, Any]] = []
    at = data.find(MAGIC)
    while at >= 0:
        first = at + len(MAGIC)
        text_at = first + DIGEST_BYTES + 12
        digest, size = data[first : first + DIGEST_BYTES], int.from_bytes(data[text_at - 12 : text_at - 4], "little")
        if digest.strip(b"\0"):
            rest = hashlib.sha256(data[:first])
            rest.update(bytes(DIGEST_BYTES))
            rest.update(data[first + DIGEST_BYTES :])
            if rest.digest() != digest:
                raise ObjectError(f"{path} is damaged, or was changed after lamina-compile wrote it")
        text = data[text_at : text_at + size]
        if len(text) != size or zlib.crc32(text) != int.from_bytes(data[text_at - 4 : text_at], "little"):
            raise ObjectError(f"{path} is damaged: its description is truncated")
        found.append(_read(path, text))
        at = data.find(MAGIC, text_at)
    if not found:
        raise ObjectError(f"{path} is not of lamina-compile: it has no description of its functions")
    _check_elf(path, data)
    return found


def _read(path: Path, text: bytes) -> dict[str, Any]:
    try:
        data = json.loads(text)
        version, architecture, system = data["version"], data["architecture"], data["system"]
    except (ValueError, KeyError, TypeError):
        raise ObjectError(f"{path} is damaged: its description cannot be read") from None
    if version != 1:
        raise ObjectError(f"{path} has version {version} of the format, this loader knows version 1: compile it again")
    here = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    if architecture != here or system != sys.platform:
        raise ObjectError(f"{path} is for {architecture} {system}, this machine is {here} {sys.platform}")
    return data


def _check_elf(path: Path, data: bytes) -> None:
    """Every segment is in the file: the system's loader maps missing pages, too, and reading them ends the process."""
    is_wide, order = data[4:5] == b"\x02", "little" if data[5:6] == b"\x01" else "big"
    if not is_wide or len(data) < 64:
        raise ObjectError(f"{path} is damaged: it has no head of 64-bit ELF")

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], order)

    first, size, count = number(32, 8), number(54, 2), number(56, 2)
    for k in range(count):
        at = first + k * size
        if at + 56 > len(data) or number(at + 8, 8) + number(at + 32, 8) > len(data):
            raise ObjectError(f"{path} is damaged: it ends before its segments do")


def _give_weights(path: Path, library: ctypes.CDLL, described: Mapping[str, Any]) -> None:
    said = described["weights"]
    if said is None:
        return
    file = path.with_name(said["file"])
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ObjectError(f"{path} needs its weights, {file}: {error.strerror}") from None
    is_whole = data[40:64] == hashlib.sha256(data[64:]).digest()[:24]  # which the object itself does not compute
    if not is_whole or getattr(library, said["symbol"])(data, ctypes.c_int64(len(data))):
        raise ObjectError(f"{file} is damaged, or has the weights of another object than {path}")


class _Library:
    """Functions by their names in C."""

    def __init__(self, library: ctypes.CDLL):
        self.library = library

    def function(self, symbol: str, result: Any, *arguments: Any) -> Any:
        try:
            found = getattr(self.library, symbol)
        except AttributeError:
            raise ObjectError(f"it has no function {symbol}") from None
        found.restype, found.argtypes = result, list(arguments)
        return found


class SharedObject:
    """Functions of a shared object, by their names in the module; the only one, or `main`, is called as the object."""

    def __init__(self, name: str, library: Any, described: Sequence[Mapping[str, Any]]):
        self._name = name
        self.functions: dict[str, Function] = {}
        for data in described:
            isa = library.function(data["isa"], ctypes.c_char_p)()
            if isa is None:
                targets = ", ".join(data["targets"])
                raise ObjectError(f"{name} is for {targets}: this processor lacks instructions of all of them")
            self.isa: str = isa.decode()
            for function in data["functions"]:
                one = Function(function, library, data)
                key = function["name"] if function["name"] not in self.functions else function["symbol"]
                self.functions[key] = one

    def __getattr__(self, name: str) -> Function:
        functions = self.__dict__.get("functions", {})
        if name not in functions:
            raise AttributeError(f"{self.__dict__.get('_name')} has no function '{name}'; there are: {', '.join(functions)}")
        return functions[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the only function, or `main`."""
        if len(self.functions) == 1:
            return next(iter(self.functions.values()))(*args, **kwargs)
        return self.__getattr__("main")(*args, **kwargs)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def __repr__(self) -> str:
        return "\n".join([f"<{self._name} for {self.isa}>", *(f"  {function}" for function in self.functions.values())])


class Function:
    """A function of a shared object. Arrays are passed unchanged: nothing is converted, and arguments that do not fit are
    refused."""

    def __init__(self, data: Mapping[str, Any], library: Any, described: Mapping[str, Any]):
        self.name: str = data["name"]
        self.sizes: list[str] = data["sizes"]
        self.params = [_Param(param) for param in data["params"]]
        self.results = [_Param(param) for param in data["results"]]
        self._statuses: Mapping[str, str] = described["statuses"]
        self._strerror = library.function(described["strerror"], ctypes.c_char_p, ctypes.c_int)
        pointers = [ctypes.c_void_p if p.is_array else _CTYPES[p.dtype_name] for p in (*self.params, *self.results)]
        sizes = [ctypes.c_int64] * len(self.sizes)
        self._takes_threads: bool = data["threads"]
        self.is_kernel: bool = data["kernel"]
        more = [ctypes.c_int64] * self._takes_threads if self.is_kernel else [ctypes.c_void_p, ctypes.c_int64]
        self._call = library.function(data["symbol"], ctypes.c_int, *pointers, *sizes, *more)
        self._arena_size = None if self.is_kernel else library.function(data["arena"], ctypes.c_int64, *sizes)
        self._local = threading.local()

    def __call__(self, *args: Any, out: Any = None, threads: int | None = None, **given: int) -> Any:
        """Call it: one array, a tuple of several, or None.

        Args:
            args: an array or number for each parameter, with its dtype and sizes.
            out: an array, or a tuple of several, for the results.
            threads: of a kernel with parallel loops: on how many it runs.
            given: sizes by name; those that arrays say need not be given.

        Raises:
            TypeError: something has another type, dtype or number than it must.
            ValueError: a shape, strides or alignment do not fit.
            ObjectError: the function refused the call.
        """
        if len(args) != len(self.params):
            raise TypeError(f"{self.name}() takes {len(self.params)} arguments, got {len(args)}")
        if threads is not None and not self._takes_threads:
            raise TypeError(f"{self.name}() takes no number of threads")
        for name, size in given.items():
            if name not in self.sizes:
                raise TypeError(f"{self.name}() has no size '{name}'; it has: {', '.join(self.sizes) or 'none'}")
            if type(size) is not int or not -(1 << 63) <= size < 1 << 63:
                raise TypeError(f"{self.name}(): size '{name}' must be an int of 64 bits, got {size!r}")
        sizes = dict(given)
        values = [param.checked(self.name, arg, sizes, self.sizes) for param, arg in zip(self.params, args, strict=True)]
        for name in self.sizes:
            if name not in sizes:
                raise ValueError(f"{self.name}(): no array gives the size '{name}': give it as {name}=")
        for param, arg in zip(self.params, args, strict=True):
            param.check_sizes(self.name, arg, sizes)
        results = self._results(sizes, out)
        pointers = [*values, *(result.ctypes.data for result in results)]
        numbers = [sizes[name] for name in self.sizes]
        if self._arena_size is None:
            more: list[Any] = [threads or 0] * self._takes_threads
        else:
            needed = self._arena_size(*numbers)
            self._check(-needed if needed < 0 else 0)
            arena = self._arena(needed)
            more = [arena, needed]
        self._check(self._call(*pointers, *numbers, *more))
        if out is not None:
            return out
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def _results(self, sizes: Mapping[str, int], out: Any) -> list[Any]:
        if out is None:
            return [np.empty(param.shape_for(sizes), param.dtype) for param in self.results]
        given = list(out) if isinstance(out, tuple) else [out]
        if len(given) != len(self.results):
            raise TypeError(f"{self.name}() has {len(self.results)} results, out= gives {len(given)} arrays")
        for param, array in zip(self.results, given, strict=True):
            param.checked(self.name, array, dict(sizes), self.sizes, writes=True)
            param.check_sizes(self.name, array, sizes)
        return given

    def _arena(self, size: int) -> int:
        """Scratch memory of this thread, kept for its next call."""
        kept = getattr(self._local, "arena", None)
        if kept is None or kept.size < size + _ALIGNMENT:
            kept = self._local.arena = np.empty(size + _ALIGNMENT, np.uint8)
        at = kept.ctypes.data
        return at + -at % _ALIGNMENT

    def _check(self, status: int) -> None:
        if status:
            name = self._statuses.get(str(status), str(status))
            message = self._strerror(status).decode()
            raise ObjectError(f"{self.name}() returned {name}: {message}")

    def __repr__(self) -> str:
        shown = ", ".join(f"{param.name}: {param}" for param in self.params)
        results = ", ".join(map(str, self.results))
        return f"{self.name}({shown})" + (
            "" if self.is_kernel else f" -> {results if len(self.results) == 1 else f'({results})'}"
        )


class _Param:
    """An array or number that a function takes or returns."""

    def __init__(self, data: Mapping[str, Any]):
        self.name: str = data["name"]
        self.dtype_name: str = data["dtype"]
        self.is_array = "shape" in data
        self.shape: list[str] = data.get("shape") or []
        self.strides: list[str] | None = data.get("strides")
        self.writes: bool = data.get("writes", False)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return _dtype(self.dtype_name)

    def shape_for(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape, given the sizes."""
        return tuple([_value(size, sizes) for size in self.shape])

    def checked(self, function: str, value: Any, sizes: dict[str, int], free: Sequence[str], *, writes: bool = False) -> Any:
        """The address of an array, or a number, if its type fits; sizes that it binds are put into `sizes`."""
        where = f"{function}(): '{self.name}'"
        if not self.is_array:
            return self._number(where, value)
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{where} must be an array {self}, got {type(value).__name__}")
        if value.dtype != self.dtype or not value.dtype.isnative:
            raise TypeError(
                f"{where} must be {self}, got dtype {value.dtype.name if value.dtype.isnative else value.dtype.str}"
            )
        if value.ndim != len(self.shape):
            raise ValueError(f"{where} must be {self}, got {_shown(value.shape)}: {value.ndim} dims")
        if (writes or self.writes) and not value.flags.writeable:
            raise ValueError(f"{where} is written, and the array is read-only")
        if not value.flags.aligned:
            raise ValueError(f"{where} is not aligned to its elements of {value.itemsize} bytes")
        if self.strides is None and not value.flags.c_contiguous:
            raise ValueError(f"{where} must be C-contiguous, got strides {value.strides}: pass np.ascontiguousarray(...)")
        for said, actual in zip(self.shape, value.shape, strict=True):
            _bind(said, actual, sizes, free)
        if self.strides is not None:
            for said, size, step in zip(self.strides, value.shape, value.strides, strict=True):
                if step % value.itemsize:
                    raise ValueError(
                        f"{where} has strides {value.strides}, no multiples of its elements of {value.itemsize} bytes"
                    )
                if size > 1 or said in free:
                    _bind(said, step // value.itemsize, sizes, free)
        return value.ctypes.data

    def check_sizes(self, function: str, value: Any, sizes: Mapping[str, int]) -> None:
        """Compare the sizes and strides of an array with the required ones."""
        if not self.is_array:
            return
        wanted = self.shape_for(sizes)
        if value.shape != wanted:
            known = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            raise ValueError(
                f"{function}(): '{self.name}' must be {self}{f' with {known}' if known else ''}, got {_shown(value.shape)}"
            )
        if self.strides is not None and value.size:
            for said, size, step in zip(self.strides, value.shape, value.strides, strict=True):
                if size > 1 and _value(said, sizes) * value.itemsize != step:
                    raise ValueError(f"{function}(): '{self.name}' must have steps of {', '.join(self.strides)} elements")

    def _number(self, where: str, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError(f"{where} is a number of type {self.dtype_name}, got an array")
        kind = self.dtype.kind
        if isinstance(value, np.generic | np.ndarray):
            if value.dtype != self.dtype:
                raise TypeError(f"{where} must be {self.dtype_name}, got {value.dtype.name}")
            return value.item()
        fits = isinstance(value, bool) if kind == "b" else isinstance(value, int) and not isinstance(value, bool)
        if kind == "f":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits:
            raise TypeError(f"{where} must be {self.dtype_name}, got {type(value).__name__}")
        if kind in "iu" and not np.iinfo(self.dtype).min <= value <= np.iinfo(self.dtype).max:
            raise ValueError(f"{where} must be {self.dtype_name}, got {value}, which does not fit")
        return value

    def __str__(self) -> str:
        if not self.is_array:
            return self.dtype_name
        steps = "" if self.strides is None else f"; {', '.join(self.strides)}"
        return f"{self.dtype_name}[{', '.join(self.shape)}{steps}]"


@cache
def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        raise ObjectError(f"arrays of {name} need the package ml_dtypes") from None
    return np.dtype(getattr(ml_dtypes, name))


def _shown(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _bind(said: str, actual: int, sizes: dict[str, int], free: Sequence[str]) -> None:
    """Give a size that stands alone, or with a number added, its value, if it has none yet."""
    name, sign, number = ([*said.split(" "), "", ""])[:3] if said.count(" ") in (0, 2) else (said, "", "")
    if name in free and name not in sizes and sign in ("", "+", "-") and (number.isdecimal() or not sign):
        sizes[name] = actual - int(f"{sign}{number}" or 0)


def _value(text: str, sizes: Mapping[str, int]) -> int:
    """The value of a size: sums and products, `floordiv(e, c)`, `max(e, 0)`."""
    return _evaluate(_parsed(text), sizes)


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(int(number)):
            return number
        case ast.Name(name):
            return sizes[name]
        case ast.UnaryOp(ast.USub(), operand):
            return -_evaluate(operand, sizes)
        case ast.BinOp(left, operator, right):
            a, b = _evaluate(left, sizes), _evaluate(right, sizes)
            return a + b if isinstance(operator, ast.Add) else a - b if isinstance(operator, ast.Sub) else a * b
        case ast.Call(ast.Name("floordiv"), [of, by], []):
            return _evaluate(of, sizes) // _evaluate(by, sizes)
        case ast.Call(ast.Name("max"), [a, b], []):
            return max(_evaluate(a, sizes), _evaluate(b, sizes))
        case _:
            raise ObjectError(f"a size must be a sum, difference, product, floordiv or max of sizes, got {ast.unparse(node)}")
