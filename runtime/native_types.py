"""Types made from a table of slots, as C extensions make them: CPython's `PyType_FromSpec` through ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

DEFAULT, HAVE_GC, BASETYPE = 1 << 18, 1 << 14, 1 << 10
"""Flags of types: the default, that of objects which the collector visits, that of a type which may have subclasses."""


class Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class GetSet(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("get", ctypes.c_void_p),
        ("set", ctypes.c_void_p),
        ("doc", ctypes.c_char_p),
        ("closure", ctypes.c_void_p),
    ]


class Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(Slot)),
    ]


def from_spec(spec: Spec, base: type[Any]) -> Any:
    """The type of a specification, which must live as long as the type."""
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object)(
        ("PyType_FromSpecWithBases", ctypes.pythonapi)
    )
    return make(ctypes.addressof(spec), (base,))
