"""The part of the native entry that makes results and temporaries, whose sizes follow from the symbols of a call.

A result is one of: the array passed by the keyword `out` (one array, or a tuple of several), which must match exactly, be
writeable and overlap no argument; the argument that donates its memory, if that is writeable and overlaps no other; a new
array, from `pool.SMALLEST_BYTES` up on memory of the pool.
"""

from __future__ import annotations

from ..runtime import abi
from ..runtime.pool import SMALLEST_BYTES
from .entry_arguments import is_ndarray
from .structured_builder import Flow, define, predicate
from .text import I1, I32, I64, PTR, Module

_TRACE_DOMAIN = 389047
"""tracemalloc's number for the memory of arrays: NumPy's NPY_TRACE_DOMAIN."""
_MOST_DIMS = 64
"""NumPy's NPY_MAXDIMS."""

_SHARED = "ptr %node, ptr %slots, ptr %pointers, ptr %made, ptr %spans, i64 %nargs"


def define_results(module: Module) -> None:
    """Define the functions that make results (`@new_results`, `@given_results`) and temporaries, return and drop them."""
    predicate(module, f"@new_results({_SHARED}, ptr %args) alwaysinline", _new_results)
    predicate(module, f"@given_results({_SHARED}, ptr %out) noinline", _given_results)
    predicate(module, "@unpack(ptr %out, i64 %count, ptr %made)", _unpack)
    predicate(module, "@fits(ptr %array, ptr %param, ptr %dims)", _fits)
    predicate(module, "@alone(i64 %low, i64 %high, ptr %spans, i64 %count, i64 %except)", _alone)
    predicate(module, "@take_temporaries(ptr %node, ptr %slots, ptr %pointers) noinline", _take_temporaries)
    define(module, "internal void @give_temporaries(ptr %pointers, i64 %count) noinline", _give_temporaries)
    define(module, "internal i64 @measure(ptr %param, ptr %slots, ptr %dims) noinline", _measure)
    define(module, "internal ptr @new_array(ptr %param, ptr %dims, i64 %bytes) alwaysinline", _new_array)
    define(module, "internal ptr @answer(ptr %made, i64 %count) alwaysinline", _answer)
    define(module, "internal void @drop(ptr %made, i64 %count) noinline", _drop)


def _params(b: Flow) -> str:
    """Where the params of the results begin."""
    offset = b.mul(b.field("%node", abi.NODE_ARGS), str(abi.PARAM_BYTES), I64)
    return b.gep(b.field("%node", abi.NODE_PARAMS, PTR), offset, "i8")


def _param(b: Flow, params: str, k: str) -> str:
    return b.gep(params, b.mul(k, str(abi.PARAM_BYTES), I64), "i8")


def _sized(b: Flow, param: str, shape: str) -> str:
    """The bytes of a result, a negative number if there are too many; a variable gets the address of its sizes."""
    size = b.variable(b.shl(b.field(param, abi.PARAM_ELEMENTS), b.field(param, abi.PARAM_SHIFT), I64), I64)
    b.store(b.field(param, abi.PARAM_SHAPE, PTR), shape, PTR)
    with b.when(b.icmp("eq", b.load(shape, PTR), "null", PTR)):
        dims = b.stack(f"[{_MOST_DIMS} x i64]")
        b.store(b.call("@measure", "i64", (PTR, param), (PTR, "%slots"), (PTR, dims)), size, I64)
        b.store(dims, shape, PTR)
    return b.load(size, I64)


def _place(b: Flow, array: str, k: str) -> None:
    """Machine code gets the address of the data of result `k`."""
    b.store(b.field(array, abi.NDARRAY_DATA, PTR), b.gep("%pointers", k, "i64"), PTR)


def _measure(b: Flow) -> None:
    total = b.variable(b.shl("1", b.field("%param", abi.PARAM_SHIFT), I64), I64)
    table = b.field("%param", abi.PARAM_DIMS, PTR)
    multiply = b.module.declare("llvm.umul.with.overflow.i64", "{ i64, i1 }", ("i64", "i64"))
    with b.each(b.field("%param", abi.PARAM_RANK)) as axis:
        dim = b.gep(table, b.mul(axis, str(abi.DIM_BYTES), I64), "i8")
        slot, size = b.field(dim, abi.DIM_SLOT), b.gep("%dims", axis, "i64")
        b.store(b.field(dim, abi.DIM_CONSTANT), size, I64)
        with b.when(b.icmp("sge", slot, "0", I64)):
            b.store(b.add(b.load(size, I64), b.load(b.gep("%slots", slot, "i64"), I64), I64), size, I64)
        value = b.load(size, I64)
        b.require(b.icmp("sge", value, "0", I64), "too_large")
        product = b.emit(f"call {{ i64, i1 }} {multiply}(i64 {b.load(total, I64)}, i64 {value})")
        b.require(b.icmp("eq", b.emit(f"extractvalue {{ i64, i1 }} {product}, 1"), "false", I1), "too_large")
        b.store(b.emit(f"extractvalue {{ i64, i1 }} {product}, 0"), total, I64)
    b.ret(b.load(total, I64), "i64")
    b.label("too_large")
    b.ret("-1", "i64")


def _new_results(b: Flow) -> None:
    """Donated or new arrays; where there is no memory for them, an error is set and none is left."""
    shape, array, count = b.variable("null", PTR), b.variable("null", PTR), b.variable("0", I64)
    params = _params(b)
    with b.each(b.field("%node", abi.NODE_RESULTS)) as k:
        param = _param(b, params, k)
        b.store(k, count, I64)
        size = _sized(b, param, shape)
        b.require(b.icmp("sge", size, "0", I64), "no_memory")
        b.store("null", array, PTR)
        donor = b.field(param, abi.PARAM_DONOR)
        with b.when(b.icmp("sge", donor, "0", I64)):
            given = b.load(b.gep("%args", donor, "ptr"), PTR)
            flags, span = b.field(given, abi.NDARRAY_FLAGS, I32), b.gep("%spans", donor, "[3 x i64]")
            is_writeable = b.icmp("ne", b.and_(flags, str(abi.WRITEABLE), I32), "0", I32)
            others = [(I64, b.field(span, 0)), (I64, b.field(span, 8)), (PTR, "%spans"), (I64, "%nargs"), (I64, donor)]
            with b.when(b.and_(is_writeable, b.call("@alone", "i1", *others), I1)):
                b.extern("Py_IncRef", "void", (PTR, given))
                b.store(given, array, PTR)
        with b.when(b.icmp("eq", b.load(array, PTR), "null", PTR)):
            b.store(b.call("@new_array", "ptr", (PTR, param), (PTR, b.load(shape, PTR)), (I64, size)), array, PTR)
        found = b.load(array, PTR)
        b.require(b.icmp("ne", found, "null", PTR), "failed")
        b.store(found, b.gep("%made", k, "ptr"), PTR)
        _place(b, found, k)
    b.ret("true", "i1")
    b.label("no_memory")
    b.extern("PyErr_NoMemory", "ptr")
    b.br("failed")
    b.label("failed")
    b.call("@drop", "void", (PTR, "%made"), (I64, b.load(count, I64)))
    b.br("no")


def _new_array(b: Flow) -> None:
    descr, rank = b.field("%param", abi.PARAM_TYPE, PTR), b.field("%param", abi.PARAM_RANK, I32)

    def new(memory: str, flags: int) -> str:
        b.extern("Py_IncRef", "void", (PTR, descr))  # the next call takes this reference
        shape = [(PTR, b.address("PyArray_Type")), (PTR, descr), (I32, rank), (PTR, "%dims"), (PTR, "null")]
        return b.extern("PyArray_NewFromDescr", "ptr", *shape, (PTR, memory), (I32, str(flags)), (PTR, "null"))

    def give_type(array: str) -> None:
        """An ndarray becomes an `Array` by its type: NumPy would look up and call more for a subclass."""
        kind = b.address("LaminaArray_Type")
        b.extern("Py_IncRef", "void", (PTR, kind))
        b.set_field(kind, array, abi.NDARRAY_TYPE, PTR)

    with b.when(b.icmp("ult", "%bytes", str(SMALLEST_BYTES), I64)):
        small = new("null", 0)
        b.require(b.icmp("ne", small, "null", PTR), "none")
        give_type(small)
        b.ret(small, "ptr")
    memory = b.call("@lamina.pool.take", "ptr", (I64, "%bytes"))
    b.require(b.icmp("ne", memory, "null", PTR), "no_memory")
    array = new(memory, abi.CARRAY)
    b.require(b.icmp("ne", array, "null", PTR), "give_back")
    b.call("@lamina.pool.adopt", "void", (PTR, array))
    address = b.cast("ptrtoint", memory, PTR, I64)
    give_type(array)
    b.extern("PyTraceMalloc_Track", "i32", (I32, str(_TRACE_DOMAIN)), (I64, address), (I64, "%bytes"))
    b.ret(array, "ptr")
    b.label("give_back")
    b.call("@lamina.pool.give", "void", (PTR, memory))
    b.ret("null", "ptr")
    b.label("no_memory")
    b.extern("PyErr_NoMemory", "ptr")
    b.br("none")
    b.label("none")
    b.ret("null", "ptr")


def _given_results(b: Flow) -> None:
    """The arrays of `out`, if they fit."""
    shape, count, params = b.variable("null", PTR), b.field("%node", abi.NODE_RESULTS), _params(b)
    b.require(b.call("@unpack", "i1", (PTR, "%out"), (I64, count), (PTR, "%made")), "no")
    with b.each(count) as k:
        param, array = _param(b, params, k), b.load(b.gep("%made", k, "ptr"), PTR)
        size = _sized(b, param, shape)
        b.require(b.icmp("sge", size, "0", I64), "no")
        b.require(b.call("@fits", "i1", (PTR, array), (PTR, param), (PTR, b.load(shape, PTR))), "no")
        low, known = b.field(array, abi.NDARRAY_DATA), b.add("%nargs", k, I64)
        high = b.select(b.icmp("eq", size, "0", I64), "0", b.add(low, size, I64), I64)
        b.require(b.call("@alone", "i1", (I64, low), (I64, high), (PTR, "%spans"), (I64, known), (I64, "-1")), "no")
        span = b.gep("%spans", known, "[3 x i64]")
        b.store(low, span, I64)
        b.set_field(high, span, 8)
        _place(b, array, k)
    with b.each(count) as k:
        b.extern("Py_IncRef", "void", (PTR, b.load(b.gep("%made", k, "ptr"), PTR)))


def _unpack(b: Flow) -> None:
    """One array, or a tuple of several."""
    with b.when(b.icmp("eq", "%count", "1", I64)):
        b.store("%out", "%made", PTR)
        b.ret("true", "i1")
    b.require(b.icmp("eq", b.field("%out", abi.NDARRAY_TYPE, PTR), b.address("PyTuple_Type"), PTR), "no")
    b.require(b.icmp("eq", b.extern("PyTuple_Size", "i64", (PTR, "%out")), "%count", I64), "no")
    with b.each("%count") as k:
        b.store(b.extern("PyTuple_GetItem", "ptr", (PTR, "%out"), (I64, k)), b.gep("%made", k, "ptr"), PTR)


def _fits(b: Flow) -> None:
    """Whether an object is an array that native code can write a result into."""
    b.require(is_ndarray(b, b.field("%array", abi.NDARRAY_TYPE, PTR)), "no")
    b.require(b.icmp("eq", b.field("%array", abi.NDARRAY_DESCR, PTR), b.field("%param", abi.PARAM_TYPE, PTR), PTR), "no")
    rank = b.field("%array", abi.NDARRAY_NDIM, I32)
    b.require(b.icmp("eq", rank, b.field("%param", abi.PARAM_RANK, I32), I32), "no")
    layout = b.and_(b.field("%array", abi.NDARRAY_FLAGS, I32), str(abi.CARRAY), I32)
    b.require(b.icmp("eq", layout, str(abi.CARRAY), I32), "no")
    sizes = b.field("%array", abi.NDARRAY_DIMS, PTR)
    with b.each(b.cast("zext", rank, I32, I64)) as axis:
        found, wanted = (b.load(b.gep(x, axis, "i64"), I64) for x in (sizes, "%dims"))
        b.require(b.icmp("eq", found, wanted, I64), "no")


def _alone(b: Flow) -> None:
    """Whether bytes are in none of some spans but number %except."""
    with b.each("%count") as k:
        other = b.gep("%spans", k, "[3 x i64]")
        starts = b.icmp("ult", b.field(other, 0), "%high", I64)
        ends = b.icmp("ult", "%low", b.field(other, 8), I64)
        meets = b.and_(b.and_(starts, ends, I1), b.icmp("ne", k, "%except", I64), I1)
        b.require(b.icmp("eq", meets, "false", I1), "no")


def _take_temporaries(b: Flow) -> None:
    """A block of the pool for each temporary, or none at all."""
    shape, count = b.variable("null", PTR), b.variable("0", I64)
    offset = b.mul(b.field("%node", abi.NODE_RESULTS), str(abi.PARAM_BYTES), I64)
    params = b.gep(_params(b), offset, "i8")
    with b.each(b.field("%node", abi.NODE_TEMPORARIES)) as k:
        b.store(k, count, I64)
        size = _sized(b, _param(b, params, k), shape)
        b.require(b.icmp("sge", size, "0", I64), "failed")
        block = b.call("@lamina.pool.take", "ptr", (I64, size))
        b.require(b.icmp("ne", block, "null", PTR), "failed")
        b.store(block, b.gep("%pointers", k, "i64"), PTR)
    b.ret("true", "i1")
    b.label("failed")
    b.call("@give_temporaries", "void", (PTR, "%pointers"), (I64, b.load(count, I64)))
    b.br("no")


def _give_temporaries(b: Flow) -> None:
    with b.each("%count") as k:
        b.call("@lamina.pool.give", "void", (PTR, b.load(b.gep("%pointers", k, "i64"), PTR)))
    b.ret()


def _answer(b: Flow) -> None:
    """The result of a call: None, an array or a tuple, which take over the references of the results."""
    b.switch("%count", {0: "none", 1: "one"}, "several")
    b.label("none")
    none = b.address("_Py_NoneStruct")
    b.extern("Py_IncRef", "void", (PTR, none))
    b.ret(none, "ptr")
    b.label("one")
    b.ret(b.load("%made", PTR), "ptr")
    b.label("several")
    whole = b.extern("PyTuple_New", "ptr", (I64, "%count"))
    b.require(b.icmp("ne", whole, "null", PTR), "failed")
    with b.each("%count") as k:
        item = b.load(b.gep("%made", k, "ptr"), PTR)
        b.extern("PyTuple_SetItem", "i32", (PTR, whole), (I64, k), (PTR, item))
    b.ret(whole, "ptr")
    b.label("failed")
    b.call("@drop", "void", (PTR, "%made"), (I64, "%count"))
    b.ret("null", "ptr")


def _drop(b: Flow) -> None:
    with b.each("%count") as k:
        b.extern("Py_DecRef", "void", (PTR, b.load(b.gep("%made", k, "ptr"), PTR)))
    b.ret()
