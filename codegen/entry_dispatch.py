"""The part of the native entry that finds the callable of a repeated call (`runtime/dispatch.py`).

The *key* of a call is a list of words: how many arguments there are, the names of those given by name, and of each argument all
that a recorded program may depend on. Types, descriptors and objects known by identity stand in it as addresses; the owner of a
key keeps these objects alive.

* an ndarray or `Array`: its type, its descriptor, its rank, its sizes; neither its strides nor its elements;
* an int of 64 bits and a float: the type, the number bit by bit;
* a tuple and a list: the type, the length, the items;
* None, a bool, `...`, a text, a type, a dtype: the type, its address.

Any other argument, and more than `MOST_WORDS`, have no key. The first word tells how to read the following ones, so equal keys
are equivalent calls.
"""

from __future__ import annotations

from ..runtime import abi
from .entry_arguments import is_ndarray
from .structured_builder import Flow, define
from .text import F64, I32, I64, PTR, Module

MOST_WORDS = 192
"""Words of a key, its hash not counted."""

_BY_IDENTITY = (
    "PyBool_Type",
    "LaminaNone_Type",
    "LaminaEllipsis_Type",
    "PyUnicode_Type",
    "PyType_Type",
    "LaminaScalarMeta_Type",
)
_MIX = str(0x9E3779B97F4A7C15 - (1 << 64))
_CALL = "ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames"


def define_dispatch(module: Module) -> None:
    """Define `@lamina.dispatch`, which serves a call or passes it on, and `@lamina.key`: its key as bytes, or None."""
    define(module, "internal i64 @words(ptr %object, ptr %words, i64 %start)", _words)
    define(module, "internal i64 @call_words(ptr %args, i64 %nargs, ptr %kwnames, ptr %words) alwaysinline", _call_words)
    define(module, f"ptr @lamina.dispatch({_CALL})", _dispatch)
    define(module, f"ptr @lamina.key({_CALL})", _key)


def _words(b: Flow) -> None:
    """Write the words of an object: where the next ones begin, negative if it has none."""
    at = b.variable("%start", I64)

    def write(word: str) -> None:
        position = b.load(at, I64)
        b.require(b.icmp("ult", position, str(MOST_WORDS), I64), "none")
        b.store(word, b.gep("%words", position, "i64"), I64)
        b.store(b.add(position, "1", I64), at, I64)

    def done() -> None:
        b.ret(b.load(at, I64), "i64")

    def address(pointer: str) -> str:
        return b.cast("ptrtoint", pointer, PTR, I64)

    type = b.field("%object", abi.NDARRAY_TYPE, PTR)
    write(address(type))
    with b.when(is_ndarray(b, type)):
        write(address(b.field("%object", abi.NDARRAY_DESCR, PTR)))
        rank = b.cast("zext", b.field("%object", abi.NDARRAY_NDIM, I32), I32, I64)
        write(rank)
        sizes = b.field("%object", abi.NDARRAY_DIMS, PTR)
        with b.each(rank) as axis:
            write(b.load(b.gep(sizes, axis, "i64"), I64))
        done()
    with b.when(b.icmp("eq", type, b.address("PyLong_Type"), PTR)):
        overflow = b.variable("0", I32)
        write(b.extern("PyLong_AsLongLongAndOverflow", "i64", (PTR, "%object"), (PTR, overflow)))
        b.require(b.icmp("eq", b.load(overflow, I32), "0", I32), "none")
        done()
    with b.when(b.icmp("eq", type, b.address("PyFloat_Type"), PTR)):
        write(b.bitcast(b.field("%object", abi.SCALAR_VALUE, F64), F64, I64))
        done()
    for name in ("PyTuple", "PyList"):
        with b.when(b.icmp("eq", type, b.address(f"{name}_Type"), PTR)):
            length = b.extern(f"{name}_Size", "i64", (PTR, "%object"))
            b.require(b.icmp("ule", length, str(MOST_WORDS), I64), "none")
            write(length)
            with b.each(length) as k:
                item = b.extern(f"{name}_GetItem", "ptr", (PTR, "%object"), (I64, k))
                following = b.call("@words", "i64", (PTR, item), (PTR, "%words"), (I64, b.load(at, I64)))
                b.require(b.icmp("sge", following, "0", I64), "none")
                b.store(following, at, I64)
            done()
    for name in _BY_IDENTITY:
        with b.when(b.icmp("eq", type, b.address(name), PTR)):
            write(address("%object"))
            done()
    is_dtype = b.icmp("eq", b.field(type, abi.NDARRAY_TYPE, PTR), b.address("LaminaDTypeMeta_Type"), PTR)
    b.require(is_dtype, "none")
    write(address("%object"))
    done()
    b.label("none")
    b.ret("-1", "i64")


def _call_words(b: Flow) -> None:
    """The key of a call: how many words it has, negative if it has none. Its hash is written before it."""
    at = b.variable("0", I64)
    names = b.variable("0", I64)
    with b.when(b.icmp("ne", "%kwnames", "null", PTR)):
        b.store(b.extern("PyTuple_Size", "i64", (PTR, "%kwnames")), names, I64)
    n_names = b.load(names, I64)
    total = b.add("%nargs", n_names, I64)
    b.require(b.icmp("ult", total, str(MOST_WORDS // 2), I64), "none")
    words = b.gep("%words", "1", "i64")
    b.store(b.add(b.mul("%nargs", str(MOST_WORDS), I64), n_names, I64), words, I64)
    with b.each(n_names) as k:
        name = b.extern("PyTuple_GetItem", "ptr", (PTR, "%kwnames"), (I64, k))
        b.store(b.cast("ptrtoint", name, PTR, I64), b.gep(words, b.add(k, "1", I64), "i64"), I64)
    b.store(b.add(n_names, "1", I64), at, I64)
    with b.each(total) as k:
        argument = b.load(b.gep("%args", k, "ptr"), PTR)
        following = b.call("@words", "i64", (PTR, argument), (PTR, words), (I64, b.load(at, I64)))
        b.require(b.icmp("sge", following, "0", I64), "none")
        b.store(following, at, I64)
    count = b.load(at, I64)
    hash = b.variable("0", I64)
    with b.each(count) as k:
        mixed = b.mul(b.xor(b.load(hash, I64), b.load(b.gep(words, k, "i64"), I64), I64), _MIX, I64)
        b.store(b.xor(mixed, b.lshr(mixed, "29", I64), I64), hash, I64)
    b.store(b.load(hash, I64), "%words", I64)
    b.ret(count, "i64")
    b.label("none")
    b.ret("-1", "i64")


def _dispatch(b: Flow) -> None:
    nargs = b.and_("%nargsf", str((1 << 63) - 1), I64)
    b.require(b.icmp("ne", b.field("%callable", abi.CALLABLE_KEEP, PTR), "null", PTR), "slow")
    table = b.field("%callable", abi.CALLABLE_HEAD, PTR)
    gate = b.load(b.field(table, abi.TABLE_GATE, PTR), I64)
    b.require(b.icmp("eq", gate, b.field(table, abi.TABLE_NUMBER), I64), "slow")
    words = b.stack(f"[{MOST_WORDS + 1} x i64]")
    count = b.call("@call_words", "i64", (PTR, "%args"), (I64, nargs), (PTR, "%kwnames"), (PTR, words))
    b.require(b.icmp("sge", count, "0", I64), "slow")
    hash, mask, slots = b.load(words, I64), b.field(table, abi.TABLE_MASK), b.field(table, abi.TABLE_SLOTS, PTR)
    key, index = b.gep(words, "1", "i64"), b.variable(hash, I64)
    run = b.variable("null", PTR)
    b.br("probe")
    b.label("probe")  # some slot is always free
    slot = b.gep(slots, b.mul(b.and_(b.load(index, I64), mask, I64), str(abi.SLOT_BYTES), I64), "i8")
    b.store(b.field(slot, abi.SLOT_RUN, PTR), run, PTR)
    b.require(b.icmp("ne", b.load(run, PTR), "null", PTR), "slow")
    b.store(b.add(b.load(index, I64), "1", I64), index, I64)
    b.require(b.icmp("eq", b.field(slot, abi.SLOT_HASH), hash, I64), "probe")
    b.require(b.icmp("eq", b.field(slot, abi.SLOT_COUNT), count, I64), "probe")
    kept = b.field(slot, abi.SLOT_WORDS, PTR)
    differs = b.extern("memcmp", "i32", (PTR, key), (PTR, kept), (I64, b.shl(count, "3", I64)))
    b.require(b.icmp("eq", differs, "0", I32), "probe")
    names = b.variable("0", I64)
    with b.when(b.icmp("ne", "%kwnames", "null", PTR)):
        b.store(b.extern("PyTuple_Size", "i64", (PTR, "%kwnames")), names, I64)
    total, found = b.add(nargs, b.load(names, I64), I64), b.load(run, PTR)
    b.extern("Py_IncRef", "void", (PTR, found))  # the table may be dropped meanwhile
    vectorcall = b.module.declare("PyObject_Vectorcall", "ptr", ("ptr", "ptr", "i64", "ptr"))
    result = b.emit(f"call ptr {vectorcall}(ptr {found}, ptr %args, i64 {total}, ptr null)")
    b.extern("Py_DecRef", "void", (PTR, found))
    b.ret(result, "ptr")
    call_python(b)


def call_python(b: Flow) -> None:
    """At the label `slow`: the call by the callable's function of Python, if the collector has not cleared it."""
    b.label("slow")
    python = b.field("%callable", abi.CALLABLE_SLOW, PTR)
    b.require(b.icmp("ne", python, "null", PTR), "cleared")
    vectorcall = b.module.declare("PyObject_Vectorcall", "ptr", ("ptr", "ptr", "i64", "ptr"))
    b.ret(b.emit(f"tail call ptr {vectorcall}(ptr {python}, ptr %args, i64 %nargsf, ptr %kwnames)"), "ptr")
    b.label("cleared")
    b.extern("PyErr_BadArgument", "i32")
    b.ret("null", "ptr")


def _key(b: Flow) -> None:
    nargs = b.and_("%nargsf", str((1 << 63) - 1), I64)
    words = b.stack(f"[{MOST_WORDS + 1} x i64]")
    count = b.call("@call_words", "i64", (PTR, "%args"), (I64, nargs), (PTR, "%kwnames"), (PTR, words))
    b.require(b.icmp("sge", count, "0", I64), "none")
    size = b.shl(b.add(count, "1", I64), "3", I64)
    b.ret(b.extern("PyBytes_FromStringAndSize", "ptr", (PTR, words), (I64, size)), "ptr")
    b.label("none")
    none = b.address("_Py_NoneStruct")
    b.extern("Py_IncRef", "void", (PTR, none))
    b.ret(none, "ptr")
