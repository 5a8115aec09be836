"""DLPack, both ways: arrays and tensors of other libraries with one memory, of element types that NumPy does not exchange, too.

NumPy's own functions serve the element types that it knows. For those of `ml_dtypes` the structure of the protocol is read and
written here (https://dmlc.github.io/dlpack, version 1).
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

_CPU = 1
_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """What a capsule `dltensor` points to."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))
    name = b"dltensor"
    used = b"used_dltensor"


class _Versioned(ctypes.Structure):
    """What a capsule `dltensor_versioned` points to."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )
    name = b"dltensor_versioned"
    used = b"used_dltensor_versioned"


_CODES = {
    "bfloat16": 4, "float8_e3m4": 7, "float8_e4m3": 8, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11,
    "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14,
}  # fmt: skip
"""The codes of the element types that NumPy does not exchange."""
_NAMES = {code: name for name, code in _CODES.items()}

_api = ctypes.pythonapi
_get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", _api))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _api))
_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _structure(capsule: Any) -> Any:
    """The structure in a capsule that nobody has consumed.

    Raises:
        BufferError: it is none of the protocol.
    """
    name = _get_name(capsule)
    kind = next((k for k in (_Managed, _Versioned) if k.name == name), None)
    if kind is None:
        raise BufferError(f"a capsule {name!r} is no tensor of DLPack, or was consumed")
    return ctypes.cast(_get_pointer(capsule, name), ctypes.POINTER(kind)).contents


def _capsule_of(x: Any) -> Any:
    try:
        return x.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library that knows the first version alone
        return x.__dlpack__()


class _Owner:
    """Keeps the memory of another library, which is told when no array uses it any more."""

    def __init__(self, structure: Any, interface: dict[str, Any]):
        self.structure, self.__array_interface__ = structure, interface

    def __del__(self) -> None:
        if self.structure.deleter:
            _Deleter(self.structure.deleter)(ctypes.addressof(self.structure))


def array_from_dlpack(x: Any) -> np.ndarray[Any, Any]:
    """An array of the memory of a tensor of another library, which lives at least as long as the array.

    Args:
        x: has `__dlpack__` and `__dlpack_device__`, as tensors of torch and jax do.

    Raises:
        BufferError: it is not in the memory of the CPU, or of an element type that arrays do not have.
        TypeError: it has no `__dlpack__`.
    """
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack takes a tensor with __dlpack__, got {type(x).__name__}")
    device = int(x.__dlpack_device__()[0]) if hasattr(x, "__dlpack_device__") else _CPU
    if device != _CPU:
        raise BufferError(f"from_dlpack takes tensors in the memory of the CPU (device type 1), got device type {device}")
    capsule = _capsule_of(x)
    structure = _structure(capsule)
    tensor = structure.tensor
    if tensor.code not in _NAMES:
        return np.from_dlpack(_Held(capsule, tensor))
    dtype = np.dtype(getattr(ml_dtypes, _NAMES[tensor.code]))
    if tensor.bits != 8 * dtype.itemsize or tensor.lanes != 1:
        raise BufferError(f"from_dlpack takes elements of {dtype.name} of {8 * dtype.itemsize} bits, got {tensor.bits}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    bits = np.dtype(f"u{dtype.itemsize}")
    strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim)) if tensor.strides else None
    read_only = isinstance(structure, _Versioned) and bool(structure.flags & _READ_ONLY)
    if 0 in shape:  # memory that may not exist
        return np.empty(shape, dtype)
    interface = {"data": ((tensor.data or 0) + tensor.byte_offset, read_only), "shape": shape, "strides": strides}
    _set_name(capsule, type(structure).used)  # the memory is ours to give back
    return np.asarray(_Owner(structure, {**interface, "typestr": bits.str, "version": 3})).view(dtype)


class _Held:
    """A capsule as an object that NumPy takes."""

    def __init__(self, capsule: Any, tensor: Any):
        self.capsule, self.device = capsule, (tensor.device_type, tensor.device_id)

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def capsule_of_array(array: np.ndarray[Any, Any], **options: Any) -> Any:
    """A capsule of an array's memory, for `__dlpack__`; the array lives until its consumer is done.

    Raises:
        BufferError: it is read-only and the consumer knows the first version of the protocol alone, or no code is its type.
    """
    code = _CODES.get(array.dtype.name)
    if code is None:
        return np.ndarray.__dlpack__(array.view(np.ndarray), **options)
    capsule = np.ndarray.__dlpack__(array.view(np.ndarray).view(f"u{array.dtype.itemsize}"), **options)
    _structure(capsule).tensor.code = code  # NumPy's own structure of the same bits
    return capsule
