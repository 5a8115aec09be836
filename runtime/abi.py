"""The facts about CPython and NumPy that native code relies on, and the self-test that they hold in this process.

Native code reads the fields of an ndarray at fixed offsets and calls a dozen functions; none of it is compiled
against headers. If a fact does not hold, callers use ctypes instead.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
import warnings
from functools import cache
from typing import Any

import numpy as np

from ..dialects.element_types import Kind
from .array import Array
from .native_types import HAVE_GC
from .scalar_types import ScalarType
from .signature import DTYPES, SCALARS

# struct PyArrayObject_fields (numpy/ndarraytypes.h), unchanged since NumPy 1.0
NDARRAY_TYPE = 8
NDARRAY_DATA = 16
NDARRAY_NDIM = 24
NDARRAY_DIMS = 32
NDARRAY_STRIDES = 40
NDARRAY_DESCR = 56
NDARRAY_FLAGS = 64
NDARRAY_HANDLER = 88  # the capsule of the allocator of the data (NEP 49)
OWNDATA = 0x004
C_CONTIGUOUS_AND_ALIGNED = 0x001 | 0x100
ALIGNED = 0x100
WRITEABLE = 0x400
CARRAY = C_CONTIGUOUS_AND_ALIGNED | WRITEABLE

# where a float and the NumPy scalars hold their number
SCALAR_VALUE = 16

# the struct of a native function (see callable.py)
CALLABLE_VECTORCALL = 16
CALLABLE_HEAD = 24
CALLABLE_SLOW = 32
CALLABLE_KEEP = 40
CALLABLE_DICT = 48
CALLABLE_WEAKREFS = 56
CALLABLE_BYTES = 64

# the struct of one specialization in the chain of a native function (see executable.py and codegen/entry.py)
NODE_FUNCTION = 0  # lamina.entry
NODE_NEXT = 8  # the following node, or null
NODE_INVOKE = 16  # calls the machine code with slots
NODE_PARAMS = 24  # those of the arguments, the results and the temporaries
NODE_ARGS = 32  # number of arguments
NODE_SYMBOLS = 40
NODE_RESULTS = 48
NODE_TEMPORARIES = 56
NODE_SLOTS = 64
NODE_WRITES = 72  # 1 if an argument is written
NODE_HEAVY = 80  # from this number of elements of the arguments, a call releases the GIL
NODE_ARENA_BYTES = 88
NODE_OUT_NAME = 96  # the interned name of the keyword with arrays for the results, or null: there is none
NODE_THREADS_NAME = 104  # the same of the number of threads
NODE_FAILED = 112  # the Python callable that gets the status and raises, or null: there is no status
NODE_SIZES = 120  # computes the symbols that follow from others and checks bounds, or null
NODE_TABLE = 128  # the number of the table of the program's effects, or 0
NODE_BYTES = 136

# the struct of one argument, result or temporary
PARAM_KIND = 0
PARAM_TYPE = 8  # NumPy's descriptor object, or for a scalar NumPy's scalar type
PARAM_RANK = 16
PARAM_FLAGS = 24  # those that the array must have
PARAM_WRITES = 32  # 0 or 1
PARAM_SHIFT = 40  # the item size, as a power of two
PARAM_DIMS = 48
PARAM_STRIDES = 56  # null: C-contiguous
PARAM_DONOR = 64  # of a result: the position of the argument that donates its memory, or -1
PARAM_SHAPE = 72  # the sizes if all of them are numbers, else null: then PARAM_DIMS says how to check or compute them
PARAM_ELEMENTS = 80  # their product
PARAM_BYTES = 88

KIND_ARRAY, KIND_FLOAT, KIND_SIGNED, KIND_UNSIGNED, KIND_BOOL = range(5)
KINDS = {Kind.FLOAT: KIND_FLOAT, Kind.SIGNED: KIND_SIGNED, Kind.UNSIGNED: KIND_UNSIGNED, Kind.BOOL: KIND_BOOL}
"""The kinds of scalar parameters: how wide one is, its shift says."""

# the struct of one size or stride: the slot of its symbol or -1, and the number added to it
DIM_SLOT = 0
DIM_CONSTANT = 8
DIM_BYTES = 16

# the struct of the calls that a function keeps (see dispatch.py and codegen/entry_dispatch.py), and of one of them
TABLE_GATE = 0  # the address of the number that calls must find
TABLE_NUMBER = 8
TABLE_MASK = 16  # the number of slots, a power of two, minus 1
TABLE_SLOTS = 24
TABLE_BYTES = 32
SLOT_HASH = 0
SLOT_COUNT = 8  # words of the key
SLOT_WORDS = 16
SLOT_RUN = 24  # the callable, or null: the slot is free
SLOT_BYTES = 32


def invoke_symbol(host: str) -> str:
    """The symbol of the function that calls `@host` with slots."""
    return f"{host}.invoke"


def sizes_symbol(host: str) -> str:
    """The symbol of the function that completes the symbols of `@host`."""
    return f"{host}.sizes"


_PYTHON_FUNCTIONS = (
    "Py_IncRef", "Py_DecRef", "PyTuple_New", "PyTuple_SetItem", "PyEval_SaveThread", "PyEval_RestoreThread",
    "PyObject_Vectorcall", "PyObject_CallNoArgs", "PyErr_NoMemory", "PyErr_Clear", "PyErr_BadArgument",
    "PyLong_AsLongLongAndOverflow", "PyTuple_Size", "PyTuple_GetItem", "PyObject_CallFunction", "PyTraceMalloc_Track",
    "PyList_Size", "PyList_GetItem", "PyBytes_FromStringAndSize",
)  # fmt: skip
_PYTHON_OBJECTS = {
    "_Py_NoneStruct": None, "_Py_TrueStruct": True, "_Py_FalseStruct": False, "PyFloat_Type": float, "PyLong_Type": int,
    "PyBool_Type": bool, "PyTuple_Type": tuple, "PyArray_Type": np.ndarray, "PyDoubleArrType_Type": np.float64,
    "LaminaArray_Type": Array, "PyList_Type": list, "PyUnicode_Type": str, "PyType_Type": type, "LaminaNone_Type": type(None),
    "LaminaEllipsis_Type": type(...), "LaminaDTypeMeta_Type": type(np.dtype),
    "LaminaScalarMeta_Type": ScalarType,
}  # fmt: skip

# position in NumPy's C API table (numpy/__multiarray_api.h); the table only ever grows
_NEW_FROM_DESCR = 94
_GET_HANDLER = 305


@cache
def symbols() -> dict[str, int]:
    """Addresses of the native entry's imports, for the loader of its object."""
    table = {name: _address(getattr(ctypes.pythonapi, name)) for name in _PYTHON_FUNCTIONS}
    table |= {name: id(value) for name, value in _PYTHON_OBJECTS.items()}
    table["PyArray_NewFromDescr"] = _numpy_api()[_NEW_FROM_DESCR]
    return table


def _address(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address
    return address


def _numpy_api() -> Any:
    from numpy._core import _multiarray_umath  # pyright: ignore[reportAttributeAccessIssue]

    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    return (ctypes.c_size_t * 400).from_address(get(_multiarray_umath._ARRAY_API, None))


# Whether to rely on it


@cache
def native_calls() -> bool:
    """Whether calls may go through the native entry: every fact holds and `LAMINA_ENTRY=ctypes` is not set."""
    if os.environ.get("LAMINA_ENTRY") == "ctypes":
        return False
    reason = unsupported()
    if reason:
        warnings.warn(f"lamina calls compiled code through ctypes (slower): {reason}", RuntimeWarning, stacklevel=3)
    return not reason


def unsupported() -> str:
    """Why the native entry cannot be used in this process; empty if it can."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} is not CPython"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != 16:
        return "the object header is not that of a 64-bit release build"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this is a free-threaded build"
    try:
        return _test_ndarray_layout() or _test_new_array() or _test_change_of_type() or _test_scalars()
    except (AttributeError, ImportError, ValueError, TypeError) as error:
        return str(error)


def _test_ndarray_layout() -> str:
    samples = [np.zeros(shape, dtype) for shape in ((), (0,), (3,), (2, 5), (4, 1, 3)) for dtype in DTYPES.values()]
    samples += [
        np.zeros((4, 6), np.float32).T,
        np.zeros((4, 6), np.int64)[::2, ::-1],
        np.zeros(9, np.uint8)[1:].view(np.float64),
        np.frombuffer(bytes(8), np.float32),
    ]
    handler = id(_current_handler())
    for array in samples:
        if array.__class__.__basicsize__ < NDARRAY_HANDLER + 8:
            return "ndarray objects are too small"
        base = id(array)
        dims, strides = (_read_pointer(base + offset) for offset in (NDARRAY_DIMS, NDARRAY_STRIDES))
        flags = ctypes.c_int.from_address(base + NDARRAY_FLAGS).value
        read = (
            _read_pointer(base + NDARRAY_TYPE),
            _read_pointer(base + NDARRAY_DATA),
            ctypes.c_int.from_address(base + NDARRAY_NDIM).value,
            _read_pointer(base + NDARRAY_DESCR),
            bool(flags & 0x001),
            bool(flags & 0x100),
            bool(flags & WRITEABLE),
            bool(flags & OWNDATA),
            _read_pointer(base + NDARRAY_HANDLER),
        )
        expected = (
            id(np.ndarray),
            array.__array_interface__["data"][0],
            array.ndim,
            id(array.dtype),
            array.flags.c_contiguous,
            array.flags.aligned,
            array.flags.writeable,
            array.flags.owndata,
            handler if array.flags.owndata else 0,
        )
        if read != expected:
            return f"the fields of an ndarray are not where NumPy 2 has them: {read} for {expected}"
        for axis in range(array.ndim):
            if ctypes.c_ssize_t.from_address(dims + 8 * axis).value != array.shape[axis]:
                return "the dimensions of an ndarray are not where NumPy 2 has them"
            if ctypes.c_ssize_t.from_address(strides + 8 * axis).value != array.strides[axis]:
                return "the strides of an ndarray are not where NumPy 2 has them"
    return ""


def _current_handler() -> object:
    """The allocator that NumPy uses in this context."""
    return ctypes.PYFUNCTYPE(ctypes.py_object)(_numpy_api()[_GET_HANDLER])()


def _read_pointer(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _test_new_array() -> str:
    """NumPy's allocation function has the expected offset and signature."""
    new = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        *(ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p),
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p),
    )(symbols()["PyArray_NewFromDescr"])
    for dtype in DTYPES.values():
        for shape in ((), (3, 0), (2, 5)):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the call takes this reference
            dims = (ctypes.c_ssize_t * max(1, len(shape)))(*shape)
            array = new(np.ndarray, dtype, len(shape), dims, None, None, 0, None)
            good = type(array) is np.ndarray and array.dtype is dtype and array.shape == shape
            if not (good and array.flags.carray and array.flags.owndata):
                return "PyArray_NewFromDescr is not where NumPy 2 has it"
    return ""


def _test_change_of_type() -> str:
    """An ndarray becomes an `Array` by its type alone, and dies as one."""
    facts = ("__basicsize__", "__itemsize__", "__dictoffset__", "__weakrefoffset__")
    if any(getattr(Array, fact) != getattr(np.ndarray, fact) for fact in facts) or Array.__flags__ & HAVE_GC:
        return "a subclass of ndarray has another layout"
    array, before = np.zeros(1), sys.getrefcount(Array)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(Array))
    ctypes.c_size_t.from_address(id(array) + NDARRAY_TYPE).value = id(Array)
    is_array = type(array) is Array
    del array
    return "" if is_array and sys.getrefcount(Array) == before else "the type of an ndarray cannot be changed"


def _test_scalars() -> str:
    """Numbers are where native code reads them."""
    for value in (1.5, *(DTYPES[name].type(1) for name in SCALARS)):
        scalar = np.asarray(value)
        if ctypes.string_at(id(value) + SCALAR_VALUE, scalar.nbytes) != scalar.tobytes():
            return f"the number of a {type(value).__name__} is not where CPython and NumPy 2 have it"
    return ""
