"""Checked entries as LLVM IR: the functions that a C program calls.

An entry `status f(arrays..., results..., sizes..., arena, arena_bytes)` takes only independent sizes: it computes those that
follow from others, and the temporary buffers. For each target there is a `layout`, which computes the sizes, the bytes of
each array and the offsets of temporaries in the arena, or reports that the sizes are invalid; and an `attempt`, which checks
pointers against it and calls the code of the target. Nothing here allocates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...runtime.signature import DTYPES, SCALARS, ArrayParam, Kind, Signature, is_symbol
from ..entry import size_value
from ..structured_builder import Flow, define
from ..targets import Target
from ..text import I1, I32, I64, PTR, Module, Ty
from .interface import ARENA_ALIGNMENT, MESSAGES, Export, Interface, Status
from .levels import own_name
from .processor import define_chosen, define_isa, text

SCALAR_TYPES = {"float32": Ty("float"), "float64": Ty("double"), "bool": I1}


def entries_text(interface: Interface, *, has_weights: bool = False) -> str:
    """The LLVM IR of all entries of an object, to stand beside `merged` code, which defines their callees.

    Args:
        has_weights: whether the code needs weights that a program loads first (`weights.py`).
    """
    module = Module()
    define_chosen(module, interface.targets)
    define_isa(module, interface.isa, interface.targets)
    define(module, "internal i1 @lamina.overlaps(ptr %spans, i64 %count, i64 %begin, i64 %bytes, i64 %but)", _overlaps)
    for export in interface.exports:
        for target, signature in zip(interface.targets, export.signatures, strict=True):
            layout = _name("layout", export, target)
            define(
                module,
                f"internal i64 {layout}({_parameters(_sizes(export), 'ptr %words')})",
                partial(_layout, export, signature),
            )
            attempt = f"internal i32 {_name('attempt', export, target)}({_parameters(_arguments(export))}) noinline"
            define(module, attempt, partial(_attempt, export, signature, target))
        define(
            module,
            f"signext i32 @{export.symbol}({_parameters(_arguments(export))})",
            partial(_entry, interface, export, has_weights),
        )
        if not export.is_kernel:
            define(
                module, f"i64 @{export.arena_symbol}({_parameters(_sizes(export))})", partial(_arena_size, interface, export)
            )
    define(module, f"ptr @{interface.strerror}(i32 %status)", _strerror)
    return module.text()


def _name(kind: str, export: Export, target: Target) -> str:
    return f'@"{kind}.{own_name(export.symbol, target)}"'


def _parameters(*parts: Sequence[tuple[Ty, str]] | str) -> str:
    return ", ".join(
        part if isinstance(part, str) else ", ".join(f"{ty} {name}" for ty, name in part) for part in parts if part
    )


def _sizes(export: Export) -> list[tuple[Ty, str]]:
    return [(I64, f"%n{k}") for k in range(len(export.sizes))]


def _arguments(export: Export) -> list[tuple[Ty, str]]:
    """The arguments of an entry in C: arrays and scalars, sizes, then the arena, or the number of threads."""
    arrays = [
        (PTR if isinstance(p, ArrayParam) else SCALAR_TYPES.get(p.dtype) or Ty(f"i{8 * DTYPES[p.dtype].itemsize}"), f"%x{k}")
        for k, p in enumerate(export.arrays)
    ]
    more = [(PTR, "%arena"), (I64, "%arena_bytes")] if not export.is_kernel else [(I64, "%threads")] * export.takes_threads
    return [*arrays, *_sizes(export), *more]


# Sizes


class _Checked(Flow):
    """A builder whose sums and products of i64 go to the label `no` if they do not fit."""

    def mul(self, x: str, y: str, ty: Ty) -> str:
        return self._checked("smul", x, y, ty)

    def add(self, x: str, y: str, ty: Ty) -> str:
        return self._checked("sadd", x, y, ty)

    def _checked(self, operation: str, x: str, y: str, ty: Ty) -> str:
        if _is_number(x) and _is_number(y):
            value = int(x) * int(y) if operation == "smul" else int(x) + int(y)
            if abs(value) < 1 << 63:
                return str(value)
        if (operation == "smul" and "1" in (x, y)) or (operation == "sadd" and "0" in (x, y)):
            return y if x == ("1" if operation == "smul" else "0") else x
        pair = f"{{ {ty}, i1 }}"
        callee = self.module.declare(f"llvm.{operation}.with.overflow.{ty.mangled}", pair, (ty, ty))
        both = self.emit(f"call {pair} {callee}({ty} {x}, {ty} {y})")
        fits = self.icmp("eq", self.emit(f"extractvalue {pair} {both}, 1"), "false", I1)
        self.require(fits, "no")
        return self.emit(f"extractvalue {pair} {both}, 0")

    def at_least(self, x: str, low: int) -> None:
        """Go to `no` if a number is less than another."""
        if not _is_number(x) or int(x) < low:
            self.require(self.icmp("sge", x, str(low), I64), "no")


def _is_number(x: str) -> bool:
    return x.lstrip("-").isdecimal()


def _layout(export: Export, signature: Signature, plain: Flow) -> None:
    """Write the symbols, the bytes of each array, and where each temporary stands; the bytes of the arena, or -BAD_SIZE.

    Of an array with strides only whether it has elements is written: 0 or 1.
    """
    b = _Checked(plain.module)
    numbers = {name: f"%n{k}" for k, name in enumerate(export.sizes)}
    symbols: list[str] = []
    if signature.meant:
        for size in signature.meant_sizes:
            if is_symbol(size):
                (symbol,) = size.symbols
                value = numbers[symbol.name]
                b.at_least(value, symbol.low)
                if symbol.high is not None:
                    b.require(b.icmp("sle", value, str(symbol.high), I64), "no")
                if symbol.multiple > 1:
                    b.require(b.icmp("eq", b.emit(f"urem i64 {value}, {symbol.multiple}"), "0", I64), "no")
        symbols = [size_value(b, size, numbers) for size in signature.meant_sizes]
    else:
        symbols = [numbers[name] for name in signature.symbols]
        arrays = [p for p in signature.params if isinstance(p, ArrayParam)]
        used = {dim.symbol for p in arrays for dim in (*p.dims, *(p.strides or ()))}
        for k, value in enumerate(symbols):
            if k not in used:  # others are checked by the shapes of arrays
                b.at_least(value, 0)
    words = [*symbols]
    for param in (*signature.params, *signature.results):
        words.append(_bytes(b, param, symbols) if isinstance(param, ArrayParam) else "0")
    total = str(_rounded_number(signature.arena_bytes))
    for temporary in signature.temporaries:
        words.append(total)
        rounded = b.and_(b.add(_bytes(b, temporary, symbols), str(ARENA_ALIGNMENT - 1), I64), str(-ARENA_ALIGNMENT), I64)
        total = b.add(total, rounded, I64)
    for k, word in enumerate(words):
        b.store(word, b.gep("%words", str(k), "i64", ""), I64)
    b.ret(total, "i64")
    if any(", label %no" in line for line in b.lines):
        b.label("no")
        b.ret(str(-Status.BAD_SIZE), "i64")
    plain.lines, plain.allocas = b.lines, b.allocas


def _bytes(b: _Checked, param: ArrayParam, symbols: Sequence[str]) -> str:
    """The size of an array; every size is checked."""
    sizes = [_dim(b, dim.symbol, dim.constant, symbols) for dim in param.dims]
    for size in sizes:
        b.at_least(size, 0)
    if param.strides is not None:
        is_empty = "false"
        for size, dim in zip(sizes, param.strides, strict=True):  # how far the array reaches fits into 64 bits
            stride = _dim(b, dim.symbol, dim.constant, symbols)
            b.mul(b.mul(size, stride, I64), str(param.np_dtype.itemsize), I64)
            is_empty = b.or_(is_empty, b.icmp("eq", size, "0", I64), I1)
        return b.select(is_empty, "0", "1", I64)
    total = str(param.np_dtype.itemsize)
    for size in sizes:  # an array without elements may have any other sizes: NumPy says so, too
        total = b.mul(total, size, I64)
    return total


def _dim(b: _Checked, symbol: int | None, constant: int, symbols: Sequence[str]) -> str:
    return str(constant) if symbol is None else b.add(symbols[symbol], str(constant), I64)


def _rounded_number(size: int) -> int:
    return -(-size // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def _arena_size(interface: Interface, export: Export, b: Flow) -> None:
    """The largest arena of any target, so that a program's allocation does not depend on the machine."""
    n_words = max(_word_count(s) for s in export.signatures)
    words = b.stack(f"[{n_words} x i64], align 8")
    most = ""
    for target in interface.targets:
        needed = b.call(_name("layout", export, target), "i64", *_sizes(export), (PTR, words))
        most = needed if not most else b.intrinsic("smax", I64, most, needed)
    b.ret(most, "i64")


def _word_count(signature: Signature) -> int:
    return max(1, len(signature.symbols) + len(signature.params) + len(signature.results) + len(signature.temporaries))


# Calls


def _entry(interface: Interface, export: Export, has_weights: bool, b: Flow) -> None:
    """Choose the code for the processor."""
    if has_weights:
        b.require(b.icmp("ne", b.load("@lamina.weights", PTR), "null", PTR), "no_weights")
    chosen = b.call("@lamina.chosen", "i32")
    b.switch(chosen, {k + 1: f"level.{k}" for k in range(len(interface.targets))}, "unsupported", "i32")
    for k, target in enumerate(interface.targets):
        b.label(f"level.{k}")
        b.ret(b.call(_name("attempt", export, target), "i32", *_arguments(export)), "i32")
    b.label("unsupported")
    b.ret(str(int(Status.UNSUPPORTED_CPU)), "i32")
    if has_weights:
        b.label("no_weights")
        b.ret(str(int(Status.NO_WEIGHTS)), "i32")


def _attempt(export: Export, signature: Signature, target: Target, b: Flow) -> None:
    """Check everything, then call."""
    params = export.arrays
    first = len(signature.symbols)
    words = b.stack(f"[{_word_count(signature)} x i64], align 8")
    total = b.call(_name("layout", export, target), "i64", *_sizes(export), (PTR, words))
    used: set[Status] = {Status.BAD_SIZE}

    def require(condition: str, status: Status) -> None:
        used.add(status)
        b.require(condition, status.name)

    b.require(b.icmp("sge", total, "0", I64), Status.BAD_SIZE.name)
    arrays = [k for k, param in enumerate(params) if isinstance(param, ArrayParam)]
    bytes_of = {k: b.load(b.gep(words, str(first + k), "i64"), I64) for k in arrays}
    addresses = {k: b.cast("ptrtoint", f"%x{k}", PTR, I64) for k in arrays}
    for k in arrays:
        is_given = b.or_(b.icmp("ne", f"%x{k}", "null", PTR), b.icmp("eq", bytes_of[k], "0", I64), I1)
        require(is_given, Status.NULL_POINTER)
    for k in arrays:
        if (align := alignment(params[k].dtype)) > 1:
            require(b.icmp("eq", b.and_(addresses[k], str(align - 1), I64), "0", I64), Status.MISALIGNED)
    if not export.is_kernel:
        arena = b.cast("ptrtoint", "%arena", PTR, I64)
        needs_none = b.icmp("eq", total, "0", I64)
        require(b.or_(needs_none, b.icmp("ne", "%arena", "null", PTR), I1), Status.NULL_POINTER)
        is_aligned = b.icmp("eq", b.and_(arena, str(ARENA_ALIGNMENT - 1), I64), "0", I64)
        require(b.or_(needs_none, is_aligned, I1), Status.MISALIGNED)
        require(b.icmp("sge", "%arena_bytes", total, I64), Status.ARENA_TOO_SMALL)
        addresses[len(params)], bytes_of[len(params)] = arena, total
    _check_overlap(export, b, addresses, bytes_of, require)
    _call(export, signature, target, b, words)
    for status in sorted(used):
        b.label(status.name)
        b.ret(str(int(status)), "i32")


def _check_overlap(export: Export, b: Flow, addresses: dict[int, str], bytes_of: dict[int, str], require: object) -> None:
    """A written array overlaps no other, except a result that may have exactly the memory of an argument."""
    params, donors = export.arrays, dict(export.signature.donations)
    n_params = len(export.signature.params)
    plain = [k for k in addresses if k == len(params) or getattr(params[k], "strides", None) is None]
    written = [k for k in plain if k >= n_params or getattr(params[k], "writes", False)]
    if not written or len(plain) < 2:
        return
    spans = b.stack(f"[{len(plain)} x [2 x i64]], align 8")
    order = [*(k for k in plain if k not in written), *written]  # each that is written is compared with those before it
    for position, k in enumerate(order):
        at = b.gep(spans, str(2 * position), "i64")
        b.store(addresses[k], at, I64)
        b.store(bytes_of[k], b.gep(at, "1", "i64"), I64)
    for position, k in enumerate(order):
        if k in written and position:
            donor = donors.get(k - n_params) if k < len(params) else None
            but = str(order.index(donor)) if donor is not None and donor in order else "-1"
            given = ((PTR, spans), (I64, str(position)), (I64, addresses[k]), (I64, bytes_of[k]), (I64, but))
            overlaps = b.call("@lamina.overlaps", "i1", *given)
            require(b.icmp("eq", overlaps, "false", I1), Status.OVERLAP)  # pyright: ignore[reportCallIssue]


def _overlaps(b: Flow) -> None:
    """Whether memory overlaps one of some spans (address, bytes); one of them, by number, may begin where it begins."""
    end = b.add("%begin", "%bytes", I64)
    with b.each("%count") as k:
        at = b.gep("%spans", b.shl(k, "1", I64), "i64")
        start, size = b.load(at, I64), b.load(b.gep(at, "1", "i64"), I64)
        meets = b.and_(b.icmp("ult", start, end, I64), b.icmp("ult", "%begin", b.add(start, size, I64), I64), I1)
        has_both = b.and_(b.icmp("ne", size, "0", I64), b.icmp("ne", "%bytes", "0", I64), I1)
        is_same = b.and_(b.icmp("eq", k, "%but", I64), b.icmp("eq", start, "%begin", I64), I1)
        with b.when(b.and_(b.and_(meets, has_both, I1), b.icmp("eq", is_same, "false", I1), I1)):
            b.ret("true", "i1")
    b.ret("false", "i1")


def _call(export: Export, signature: Signature, target: Target, b: Flow, words: str) -> None:
    """Call the code of the target; its status as ours."""
    host = f'@"{own_name(export.name, target)}"'
    symbols = [b.load(b.gep(words, str(k), "i64"), I64) for k in range(len(signature.symbols))]
    if export.is_kernel:
        slots = b.stack(f"[{signature.slots} x i64], align 8")
        status = _fill_slots(b, export, signature, symbols, slots)
        b.call(f'@"{own_name(export.name + ".invoke", target)}"', "void", (PTR, slots))
    else:
        status = b.stack("[4 x i64], align 8")
        for k in range(4):
            b.set_field("0", status, 8 * k)
        n_arrays = len(export.arrays)
        pointers = [f"%x{k}" for k in range(n_arrays)]
        for k in range(len(signature.temporaries)):
            offset = b.load(b.gep(words, str(len(signature.symbols) + n_arrays + k), "i64"), I64)
            pointers.append(b.gep("%arena", offset, "i8"))
        given = [*((PTR, p) for p in pointers), *((I64, s) for s in symbols), (PTR, "%arena"), (PTR, status)]
        b.call(host, "void", *given)
    code = b.load(status, I64)
    out_of_bounds, no_memory = str(int(Status.OUT_OF_BOUNDS)), str(int(Status.NO_MEMORY))
    failed = b.select(b.icmp("sgt", code, "0", I64), out_of_bounds, no_memory, I32)
    if export.is_kernel:  # -1 says in the next word whether a local array had a negative size
        is_size = b.icmp("slt", b.field(status, 8), "0", I64)
        is_size = b.and_(is_size, b.icmp("slt", code, "0", I64), I1)
        failed = b.select(is_size, str(int(Status.BAD_SIZE)), failed, I32)
    b.ret(b.select(b.icmp("eq", code, "0", I64), "0", failed, I32), "i32")


def _fill_slots(b: Flow, export: Export, signature: Signature, symbols: Sequence[str], slots: str) -> str:
    """The words of a kernel's call; where its status is."""
    for k, param in enumerate(signature.params):
        at = b.gep(slots, str(k), "i64")
        if isinstance(param, ArrayParam):
            b.store(f"%x{k}", at, PTR)
            continue
        kind, ty = SCALARS[param.dtype], SCALAR_TYPES.get(param.dtype) or Ty(f"i{8 * DTYPES[param.dtype].itemsize}")
        if kind is Kind.FLOAT:
            b.store(f"%x{k}", at, ty)
        else:
            wide = f"%x{k}" if ty == I64 else b.cast("sext" if kind is Kind.SIGNED else "zext", f"%x{k}", ty, I64)
            b.store(wide, at, I64)
    n = len(signature.params)
    for k, value in enumerate(symbols):
        b.store(value, b.gep(slots, str(n + k), "i64"), I64)
    b.store("%threads" if export.takes_threads else "0", b.gep(slots, str(signature.threads_slot), "i64"), I64)
    for k in range(4):
        b.store("0", b.gep(slots, str(signature.status_slot + k), "i64"), I64)
    return b.gep(slots, str(signature.status_slot), "i64")


def alignment(dtype: str) -> int:
    """How arrays of a dtype must be aligned, in bytes: complex numbers as their parts."""
    found = DTYPES[dtype]
    return found.itemsize // 2 if found.kind == "c" else found.itemsize


def _strerror(b: Flow) -> None:
    b.switch("%status", {int(status): status.name for status in MESSAGES}, "unknown", "i32")
    for status, message in MESSAGES.items():
        b.label(status.name)
        b.ret(text(b.module, f"lamina.message.{int(status)}", message), "ptr")
    b.label("unknown")
    b.ret(text(b.module, "lamina.message.unknown", "unknown status"), "ptr")
