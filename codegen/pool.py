"""The part of the memory pool (`runtime/pool.py`) that native code calls, as LLVM IR.

`@lamina.pool.take(i64 bytes)` gives a block, 64-byte aligned, or null; `@lamina.pool.give(ptr)` takes it back;
`@lamina.pool.adopt(ptr array)` makes NumPy the owner of the block that an array was made on: the array has the flag OWNDATA
and names our allocator (NEP 49), so it resizes, copies, pickles and dies as any other. `@lamina.pool.trim` gives old blocks
to the system; NumPy calls `malloc`, `calloc`, `realloc` and `free`.
"""

from __future__ import annotations

from ..runtime import abi
from ..runtime.pool import CLASSES, HEADER, HUGE_PAGE, MAPPED_BYTES, PAGE, SMALLEST_BYTES, STATE_SYMBOL, State
from .structured_builder import Flow, define
from .text import I1, I8, I32, I64, PTR, Module

POOL_SYMBOLS = tuple(f"lamina.pool.{name}" for name in ("take", "give", "trim", "malloc", "calloc", "realloc", "free"))

_MOST_BYTES = 1 << 46
"""More than any machine has, and rounding up stays in range."""
_HEADER_BYTES = 64
# mmap and madvise of Linux
_READ_WRITE, _PRIVATE_ANONYMOUS, _ADVISE_HUGE = 3, 34, 14


def pool_module(module: Module) -> None:
    """Define the pool in a module that is linked with `runtime.pool.imports()`."""
    define(module, "ptr @lamina.pool.take(i64 %wanted)", _take)
    define(module, "internal ptr @lamina.pool.fresh(i64 %capacity, i64 %class) noinline", _fresh)
    define(module, "void @lamina.pool.give(ptr %block)", _give)
    define(module, "internal void @lamina.pool.release(ptr %block) noinline", _release)
    define(module, "void @lamina.pool.trim(i64 %generation)", _trim)
    define(module, "internal void @lamina.pool.adopt(ptr %array)", _adopt)
    define(module, "ptr @lamina.pool.malloc(ptr %context, i64 %bytes)", _malloc)
    define(module, "ptr @lamina.pool.calloc(ptr %context, i64 %count, i64 %size)", _calloc)
    define(module, "ptr @lamina.pool.realloc(ptr %context, ptr %old, i64 %bytes)", _realloc)
    define(module, "void @lamina.pool.free(ptr %context, ptr %block, i64 %bytes)", _free)


def _state(b: Flow, name: str) -> str:
    """The address of a word of the pool's state."""
    return b.gep(b.address(STATE_SYMBOL), str(getattr(State, name).offset), "i8")


def _header(b: Flow, block: str, name: str) -> str:
    """The address of a word in the header of a block."""
    return b.gep(block, str(HEADER[name]), "i8")


def _capacity(b: Flow) -> tuple[str, str]:
    """The bytes of the smallest size class that fits, 5, 6, 7 or 8 times a power of two, and its number."""
    last = b.sub(b.intrinsic("umax", I64, "%wanted", str(SMALLEST_BYTES)), "1", I64)
    zeros = b.extern("llvm.ctlz.i64", "i64", (I64, last), (I1, "true"))
    shift = b.sub("61", zeros, I64)
    quarter = b.lshr(last, shift, I64)  # 4 to 7
    capacity = b.shl(b.add(quarter, "1", I64), shift, I64)
    doublings = b.sub(shift, str(SMALLEST_BYTES.bit_length() - 4), I64)
    return capacity, b.sub(b.add(b.shl(doublings, "2", I64), quarter, I64), "4", I64)


def _add(b: Flow, at: str, amount: str) -> None:
    b.store(b.add(b.load(at, I64), amount, I64), at, I64)


def _take(b: Flow) -> None:
    """The block on top of the stack of a class, or a new one."""
    new = b.variable("null", PTR)
    _add(b, _state(b, "takes"), "1")
    b.require(b.icmp("ule", "%wanted", str(_MOST_BYTES), I64), "none")
    capacity, number = _capacity(b)
    stack = b.gep(_state(b, "classes"), number, "ptr")
    top = b.load(stack, PTR)
    with b.when(b.icmp("ne", top, "null", PTR)):
        b.store(b.load(_header(b, top, "next"), PTR), stack, PTR)
        _add(b, _state(b, "kept"), b.sub("0", capacity, I64))
        b.ret(top, "ptr")
    wanted = [(I64, capacity), (I64, number)]
    b.store(b.call("@lamina.pool.fresh", "ptr", *wanted), new, PTR)
    with b.when(b.icmp("eq", b.load(new, PTR), "null", PTR)):  # the kept memory may be the missing memory
        b.call("@lamina.pool.trim", "void", (I64, str((1 << 63) - 1)))
        b.store(b.call("@lamina.pool.fresh", "ptr", *wanted), new, PTR)
    is_kept = b.icmp("ne", b.load(_state(b, "keeping"), I64), "0", I64)
    is_hopeless = b.icmp("ugt", capacity, b.load(_state(b, "limit"), I64), I64)
    with b.when(b.icmp("eq", b.or_(is_kept, is_hopeless, I1), "false", I1)):
        answer = b.extern("PyObject_CallNoArgs", "ptr", (PTR, b.load(_state(b, "wake"), PTR)))
        b.require(b.icmp("ne", answer, "null", PTR), "clear")
        b.extern("Py_DecRef", "void", (PTR, answer))
    b.ret(b.load(new, PTR), "ptr")
    b.label("clear")
    b.extern("PyErr_Clear", "void")
    b.ret(b.load(new, PTR), "ptr")
    b.label("none")
    b.ret("null", "ptr")


def _fresh(b: Flow) -> None:
    """A block of the system, with its header."""
    slot = b.variable("null", PTR)
    b.cond_br(b.icmp("uge", "%capacity", str(MAPPED_BYTES), I64), "map", "heap")
    b.label("heap")
    room = b.add("%capacity", str(_HEADER_BYTES), I64)
    failed = b.extern("posix_memalign", "i32", (PTR, slot), (I64, "64"), (I64, room))
    b.require(b.icmp("eq", failed, "0", I32), "none")
    heap_base = b.load(slot, PTR)
    heap_start, heap = b.gep(heap_base, str(_HEADER_BYTES), "i8"), b.block
    b.br("header")

    b.label("map")  # a page for the header, and the alignment to a huge page: address space, not memory
    is_large = b.icmp("uge", "%capacity", str(HUGE_PAGE), I64)
    room = b.add("%capacity", str(PAGE), I64)
    length = b.add(room, b.select(is_large, str(HUGE_PAGE), "0", I64), I64)
    modes = [(I32, str(_READ_WRITE)), (I32, str(_PRIVATE_ANONYMOUS)), (I32, "-1"), (I64, "0")]
    map_base = b.extern("mmap", "ptr", (PTR, "null"), (I64, length), *modes)
    b.require(b.icmp("ne", map_base, "inttoptr (i64 -1 to ptr)", PTR), "none")
    b.store(map_base, slot, PTR)
    with b.when(is_large):
        up = b.add(b.cast("ptrtoint", map_base, PTR, I64), str(HUGE_PAGE - 1), I64)
        aligned = b.cast("inttoptr", b.and_(up, str(-HUGE_PAGE), I64), I64, PTR)
        b.extern("madvise", "i32", (PTR, aligned), (I64, room), (I32, str(_ADVISE_HUGE)))
        b.store(aligned, slot, PTR)
    map_start, mapped = b.gep(b.load(slot, PTR), str(PAGE), "i8"), b.block
    b.br("header")

    b.label("header")
    block = b.phi(PTR, (heap_start, heap), (map_start, mapped))
    base = b.phi(PTR, (heap_base, heap), (map_base, mapped))
    mapped_bytes = b.phi(I64, ("0", heap), (length, mapped))
    b.store("%capacity", _header(b, block, "bytes"), I64)
    b.store("%class", _header(b, block, "class"), I64)
    b.store(base, _header(b, block, "base"), PTR)
    b.store(mapped_bytes, _header(b, block, "mapped"), I64)
    b.ret(block, "ptr")
    b.label("none")
    b.ret("null", "ptr")


def _give(b: Flow) -> None:
    """A block back onto its stack, or to the system."""
    kept_at = _state(b, "kept")
    kept = b.add(b.load(kept_at, I64), b.load(_header(b, "%block", "bytes"), I64), I64)
    b.require(b.icmp("ule", kept, b.load(_state(b, "limit"), I64), I64), "release")
    b.require(b.icmp("ne", b.load(_state(b, "keeping"), I64), "0", I64), "release")
    b.store(kept, kept_at, I64)
    b.store(b.load(_state(b, "generation"), I64), _header(b, "%block", "generation"), I64)
    stack = b.gep(_state(b, "classes"), b.load(_header(b, "%block", "class"), I64), "ptr")
    b.store(b.load(stack, PTR), _header(b, "%block", "next"), PTR)
    b.store("%block", stack, PTR)
    b.ret()
    b.label("release")
    b.call("@lamina.pool.release", "void", (PTR, "%block"))
    b.ret()


def _release(b: Flow) -> None:
    base, mapped = b.load(_header(b, "%block", "base"), PTR), b.load(_header(b, "%block", "mapped"), I64)
    with b.when(b.icmp("eq", mapped, "0", I64)):
        b.extern("free", "void", (PTR, base))
        b.ret()
    b.extern("munmap", "i32", (PTR, base), (I64, mapped))
    b.ret()


def _trim(b: Flow) -> None:
    """Release blocks kept since before a generation: the lower part of each stack."""
    link, going = b.variable("null", PTR), b.variable("null", PTR)  # `link` points to the first candidate
    kept_at = _state(b, "kept")

    def is_young() -> str:
        """Whether a block is to stay; there is none at the end of the stack."""
        block, stays = b.load(b.load(link, PTR), PTR), b.fresh_label("stays")
        some, before = b.fresh_label("some"), b.block
        b.cond_br(b.icmp("ne", block, "null", PTR), some, stays)
        b.label(some)
        born = b.load(_header(b, block, "generation"), I64)
        is_new = b.icmp("sge", born, "%generation", I64)
        b.br(stays)
        b.label(stays)
        return b.phi(I1, ("false", before), (is_new, some))

    with b.each(str(CLASSES)) as k:
        b.store(b.gep(_state(b, "classes"), k, "ptr"), link, PTR)
        with b.loop(is_young):
            b.store(_header(b, b.load(b.load(link, PTR), PTR), "next"), link, PTR)
        b.store(b.load(b.load(link, PTR), PTR), going, PTR)
        b.store("null", b.load(link, PTR), PTR)
        with b.loop(lambda: b.icmp("ne", b.load(going, PTR), "null", PTR)):
            block = b.load(going, PTR)
            b.store(b.load(_header(b, block, "next"), PTR), going, PTR)
            _add(b, kept_at, b.sub("0", b.load(_header(b, block, "bytes"), I64), I64))
            b.call("@lamina.pool.release", "void", (PTR, block))
    b.ret()


def _adopt(b: Flow) -> None:
    """An array that was made on a block becomes its owner."""
    handler = b.load(_state(b, "handler"), PTR)
    b.extern("Py_IncRef", "void", (PTR, handler))
    b.set_field(handler, "%array", abi.NDARRAY_HANDLER, PTR)
    flags = b.or_(b.field("%array", abi.NDARRAY_FLAGS, I32), str(abi.OWNDATA), I32)
    b.set_field(flags, "%array", abi.NDARRAY_FLAGS, I32)
    b.ret()


# The allocator that NumPy calls


def _malloc(b: Flow) -> None:
    b.ret(b.call("@lamina.pool.take", "ptr", (I64, "%bytes")), "ptr")


def _calloc(b: Flow) -> None:
    size = b.mul("%count", "%size", I64)  # NumPy has checked the product
    block = b.call("@lamina.pool.take", "ptr", (I64, size))
    with b.when(b.icmp("ne", block, "null", PTR)):
        b.extern("llvm.memset.p0.i64", "void", (PTR, block), (I8, "0"), (I64, size), (I1, "false"))
    b.ret(block, "ptr")


def _realloc(b: Flow) -> None:
    """A block that is neither too small nor, by half, too large stays."""
    with b.when(b.icmp("eq", "%old", "null", PTR)):
        b.ret(b.call("@lamina.pool.take", "ptr", (I64, "%bytes")), "ptr")
    capacity = b.load(_header(b, "%old", "bytes"), I64)
    wanted = b.intrinsic("umax", I64, "%bytes", str(SMALLEST_BYTES))
    fits = b.icmp("ule", wanted, capacity, I64)
    is_worth_it = b.icmp("uge", wanted, b.lshr(capacity, "1", I64), I64)
    with b.when(b.and_(fits, is_worth_it, I1)):
        b.ret("%old", "ptr")
    new = b.call("@lamina.pool.take", "ptr", (I64, "%bytes"))
    with b.when(b.icmp("ne", new, "null", PTR)):
        size = b.intrinsic("umin", I64, capacity, "%bytes")
        b.extern("llvm.memcpy.p0.p0.i64", "void", (PTR, new), (PTR, "%old"), (I64, size), (I1, "false"))
        b.call("@lamina.pool.give", "void", (PTR, "%old"))
    b.ret(new, "ptr")


def _free(b: Flow) -> None:
    with b.when(b.icmp("ne", "%block", "null", PTR)):
        b.call("@lamina.pool.give", "void", (PTR, "%block"))
    b.ret()
