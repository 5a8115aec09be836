"""The native entry: LLVM IR that lets Python call compiled functions and kernels with no interpreter in the way.

One object serves all compiled code of a process. It defines

`@lamina.entry(callable, args, nargsf, kwnames, node)`, which accepts arguments that match the node's signature *exactly*
(`entry_arguments.py`): they bind the symbols of its sizes. It makes the results (`entry_results.py`) and scratch memory,
calls the machine code and returns one array, a tuple, or None. On any difference it passes the call on, unchanged, to the
next node of the chain, and from the last node to the Python callable of the slow path. So it raises nothing but for lack of
memory; if the code leaves a status, the `failed` object of the node raises. Keywords that it takes, where a node names
them: `out`, arrays for the results, and `threads`, a number.

`@lamina.vectorcall(callable, args, nargsf, kwnames)`, which CPython calls: it starts at the head of the chain.

`@lamina.dispatch` serves functions of Python whose calls came before (`entry_dispatch.py`).

A node is one specialization of one callable, laid out as in `runtime/abi.py`: signatures are data, not code, as an entry
written for each signature took 7 ms to compile with two arguments and 40 ms with twenty, to save about 10 ns a call.

Machine code is called as `@f.invoke(slots)`, words of 8 bytes: the arguments, the symbols, the number of threads, the
status, the results, temporaries of symbolic size, the arena (`Signature.slots`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..runtime import abi
from ..runtime.signature import MOST_THREADS, STATUS_WORDS, Atom, Positive, Signature, Size, Symbol, is_symbol
from .compile import computes
from .entry_arguments import REFUSED, define_arguments
from .entry_dispatch import call_python, define_dispatch
from .entry_results import define_results
from .pool import POOL_SYMBOLS, pool_module
from .structured_builder import Flow, define
from .text import I1, I32, I64, PTR, Module, Ty

ENTRY_SYMBOLS = ("lamina.entry", "lamina.vectorcall", "lamina.dispatch", "lamina.key", *POOL_SYMBOLS)

STACK_ARENA_BYTES = 16 << 10
"""An arena up to this many bytes is on the stack; above, it is a block of the pool."""

_CALL = "ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames"
_CALL_TYPES = "ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames, ptr"


def entry_module() -> str:
    """The LLVM IR of the entry and the pool, to be compiled and loaded once, with `abi.symbols()` and `pool.imports()`."""
    module = Module()
    define(module, f"ptr @lamina.vectorcall({_CALL})", _vectorcall)
    define(module, f"ptr @lamina.entry({_CALL}, ptr %node)", _entry)
    define(module, "internal ptr @named(ptr %args, i64 %nargs, ptr %kwnames, ptr %node) noinline", _named)
    define(module, "internal ptr @attempt(ptr %args, i64 %nargs, i64 %threads, ptr %out, ptr %node) noinline", _attempt)
    define_arguments(module)
    define_results(module)
    define_dispatch(module)
    pool_module(module)
    return module.text()


def emit_invoke(host: str, signature: Signature) -> str:
    """LLVM IR text to append to the module that defines `@host`, which takes pointers to the arguments, the results and
    temporaries, then the symbols, then the arena, then, if it may stop, to its status.

    >>> from lamina.runtime.signature import ArrayParam, Dim
    >>> x = ArrayParam("x", "float32", (Dim(0),))
    >>> print(emit_invoke("f", Signature("f", (x,), symbols=("N",))))
    define void @"f.invoke"(ptr %slots) {
      %v1 = load ptr, ptr %slots
      %v2 = getelementptr i64, ptr %slots, i64 1
      %v3 = load i64, ptr %v2
      %v4 = getelementptr i64, ptr %slots, i64 7
      %v5 = load ptr, ptr %v4
      tail call void @"f"(ptr %v1, i64 %v3, ptr %v5)
      ret void
    }
    <BLANKLINE>
    """
    b = Flow()
    arguments = []
    for ty, k in _places(signature):
        place = "%slots" if k == 0 else b.gep("%slots", str(k), I64, "")
        arguments.append(f"ptr {place}" if ty is None else f"{ty} {b.load(place, ty)}")
    b.emit_void(f'tail call void @"{host}"({", ".join(arguments)})')
    b.ret()
    return f'define void @"{abi.invoke_symbol(host)}"(ptr %slots) {{\n{b.text()}\n}}\n'


MANY_ARGUMENTS = 64
"""From here on a host function reads slots itself: LLVM takes most of its time to put hundreds of arguments on the stack."""


def _places(signature: Signature) -> list[tuple[Ty | None, int]]:
    """The type of each argument of a host function, and its slot; None where it is the address of the slot."""
    pointers = [*range(len(signature.params)), *range(signature.results_slot, signature.slots - 1)]
    symbols = range(len(signature.params), signature.threads_slot)
    places: list[tuple[Ty | None, int]] = [
        *((PTR, k) for k in pointers),
        *((I64, k) for k in symbols),
        (PTR, signature.slots - 1),
    ]
    return [*places, (None, signature.status_slot)] if signature.effects or signature.stops else places


def add_invoke(text: str, host: str, signature: Signature) -> str:
    """LLVM IR text that defines `@host`, with `emit_invoke`; or, where `@host` has many arguments and only calls others, with
    its body as that of `@host.invoke`.

    >>> from lamina.runtime.signature import ArrayParam
    >>> vectors = [ArrayParam.of_shape(f"x{k}", "float32", (2,)) for k in range(70)]
    >>> parameters = ", ".join(f"ptr noalias %x.{k}" for k in range(71))
    >>> text = f"define void @f({parameters}) nounwind {{\\nentry:\\n  call void @g(ptr %x.3)\\n  ret void\\n}}"
    >>> print(add_invoke(text, "f", Signature("f", vectors)))
    define void @"f.invoke"(ptr %slots) nounwind {
    entry:
      %x.3.at0.slot = getelementptr i64, ptr %slots, i64 3
      %x.3.at0 = load ptr, ptr %x.3.at0.slot
      call void @g(ptr %x.3.at0)
      ret void
    }
    """
    places = _places(signature)
    found = re.search(rf'^define void @"?{re.escape(host)}"?\((.*)\)(.*) {{\nentry:\n', text, re.M)
    if len(places) < MANY_ARGUMENTS or found is None:
        return f"{text}\n{emit_invoke(host, signature)}"
    end = text.index("\n}", found.end())
    names = [argument.rpartition(" ")[2] for argument in found[1].split(", ")]
    is_called = re.search(rf'call void @"?{re.escape(host)}"?\(', text) is not None
    if is_called or computes(text[found.start() : end]) or len(names) != len(places):
        return f"{text}\n{emit_invoke(host, signature)}"
    head = f'define void @"{abi.invoke_symbol(host)}"(ptr %slots){found[2]} {{\nentry:\n'
    body = _with_loads(text[found.end() : end], dict(zip(names, places, strict=True)))
    return text[: found.start()] + head + body + text[end:]


def _with_loads(body: str, places: Mapping[str, tuple[str | None, int]]) -> str:
    """A body that loads each argument where it reads it: thousands that live from the entry on take LLVM a second to spill."""
    lines: list[str] = []
    early: dict[str, None] = {}
    for number, line in enumerate(body.split("\n")):
        read = [name for name in dict.fromkeys(_NAMES.findall(line)) if name in places]
        if " = phi " in line:  # its operands are defined in the blocks before
            early.update(dict.fromkeys(read))
            read = []
        for name in read:
            lines += _load(f"{name}.at{number}", *places[name])
        own = {name: f"{name}.at{number}" for name in read}
        lines.append(_NAMES.sub(lambda found, own=own: own.get(found[0], found[0]), line) if own else line)
    return "\n".join([line for name in early for line in _load(name, *places[name])] + lines)


_NAMES = re.compile(r"%[-\w.$]+")


def _load(name: str, ty: str | None, k: int) -> list[str]:
    place = name if ty is None else f"{name}.slot"
    lines = [f"  {place} = getelementptr i64, ptr %slots, i64 {k}"]
    return lines if ty is None else [*lines, f"  {name} = load {ty}, ptr {place}"]


def emit_sizes(host: str, signature: Signature) -> str:
    """LLVM IR text of the function that gets the symbols of a call, of which arguments have given some: it stores those that
    follow and returns whether the others are between their bounds.

    >>> from lamina.runtime.signature import ArrayParam, Dim
    >>> x = ArrayParam("x", "float32", (Dim(0),))
    >>> print(emit_sizes("f", Signature("f", (x,), symbols=("n", "2 * n"), meant=("n where n in 1..8", "2 * n"))))
    define i1 @"f.sizes"(ptr %symbols) {
      %v1 = load i64, ptr %symbols
      %v2 = icmp sge i64 %v1, 1
      %v3 = icmp sle i64 %v1, 8
      %v4 = and i1 %v2, %v3
      %v5 = mul i64 %v1, 2
      %v6 = getelementptr i64, ptr %symbols, i64 1
      store i64 %v5, ptr %v6
      ret i1 %v4
    }
    <BLANKLINE>
    """
    b = Flow()
    known: dict[str, str] = {}
    kept = "true"
    places = ["%symbols", *(str(k) for k in range(1, len(signature.meant)))]

    def place(k: int) -> str:
        return "%symbols" if k == 0 else b.gep("%symbols", places[k], I64, "")

    for k, size in enumerate(signature.meant_sizes):
        if not is_symbol(size):
            continue
        (symbol,) = size.symbols
        value = known[symbol.name] = b.load(place(k), I64)
        checks = [b.icmp("sge", value, str(symbol.low), I64)] if symbol.low else []
        if symbol.high is not None:
            checks.append(b.icmp("sle", value, str(symbol.high), I64))
        if symbol.multiple > 1:
            checks.append(b.icmp("eq", b.emit(f"urem i64 {value}, {symbol.multiple}"), "0", I64))
        for check in checks:
            kept = check if kept == "true" else b.and_(kept, check, I1)
    for k, size in enumerate(signature.meant_sizes):
        if not is_symbol(size):
            b.store(size_value(b, size, known), place(k), I64)
    b.ret(kept, "i1")
    return f'define i1 @"{abi.sizes_symbol(host)}"(ptr %symbols) {{\n{b.text()}\n}}\n'


def size_value(b: Flow, size: Any, known: dict[str, str]) -> str:
    """The value of a size, given those of symbols."""
    if not isinstance(size, Size):
        return str(size)
    total = ""
    for monomial, c in size.terms:
        factors = [_atom_value(b, atom, known) for atom in monomial]
        factors += [str(c)] if c != 1 or not factors else []
        product = factors[0]
        for factor in factors[1:]:
            product = b.mul(product, factor, I64)
        total = b.add(total, product, I64) if total else product
    return total


def _atom_value(b: Flow, atom: Atom, known: dict[str, str]) -> str:
    if isinstance(atom, Symbol):
        return known[atom.name]
    inner = size_value(b, atom.of, known)
    if isinstance(atom, Positive):
        return b.intrinsic("smax", I64, inner, "0")
    quotient = b.emit(f"sdiv i64 {inner}, {atom.by}")  # towards zero: one less for negative numbers that are no multiple
    rest = b.emit(f"srem i64 {inner}, {atom.by}")
    return b.add(quotient, b.emit(f"ashr i64 {rest}, 63"), I64)


def _vectorcall(b: Flow) -> None:
    kept = b.field("%callable", abi.CALLABLE_KEEP, PTR)
    b.require(b.icmp("ne", kept, "null", PTR), "cleared")  # by the garbage collector, and the chain with it
    head = b.field("%callable", abi.CALLABLE_HEAD, PTR)
    function = b.field(head, abi.NODE_FUNCTION, PTR)
    b.ret(b.emit(f"tail call ptr {function}({_CALL_TYPES} {head})"), "ptr")
    b.label("cleared")
    b.extern("PyErr_BadArgument", "i32")
    b.ret("null", "ptr")


def _entry(b: Flow) -> None:
    nargs = b.and_("%nargsf", str((1 << 63) - 1), I64)  # the top bit is a flag
    b.require(b.icmp("eq", nargs, b.field("%node", abi.NODE_ARGS), I64), "pass_on")
    b.cond_br(b.icmp("eq", "%kwnames", "null", PTR), "positional", "keywords")
    b.label("keywords")
    named = b.emit(f"call ptr @named(ptr %args, i64 {nargs}, ptr %kwnames, ptr %node)")
    b.br("answered")
    b.label("positional")
    plain = b.emit(f"call ptr @attempt(ptr %args, i64 {nargs}, i64 0, ptr null, ptr %node)")
    b.br("answered")
    b.label("answered")
    answer = b.phi(PTR, (named, "keywords"), (plain, "positional"))
    b.require(b.icmp("ne", answer, REFUSED, PTR), "pass_on")
    b.ret(answer, "ptr")

    b.label("pass_on")
    following = b.field("%node", abi.NODE_NEXT, PTR)
    b.require(b.icmp("ne", following, "null", PTR), "slow")
    function = b.field(following, abi.NODE_FUNCTION, PTR)
    b.ret(b.emit(f"musttail call ptr {function}({_CALL_TYPES} {following})"), "ptr")
    call_python(b)


def _named(b: Flow) -> None:
    """The call with keywords: one, known by the identity of the interned name."""
    overflow = b.variable("0", I32)
    b.require(b.icmp("eq", b.extern("PyTuple_Size", "i64", (PTR, "%kwnames")), "1", I64), "refuse")
    word = b.extern("PyTuple_GetItem", "ptr", (PTR, "%kwnames"), (I64, "0"))
    given = b.load(b.gep("%args", "%nargs", "ptr"), PTR)
    is_out = b.icmp("eq", word, b.field("%node", abi.NODE_OUT_NAME, PTR), PTR)
    with b.when(is_out):
        b.ret(b.emit(f"call ptr @attempt(ptr %args, i64 %nargs, i64 0, ptr {given}, ptr %node)"), "ptr")
    b.require(b.icmp("eq", word, b.field("%node", abi.NODE_THREADS_NAME, PTR), PTR), "refuse")
    b.require(b.icmp("eq", b.field(given, abi.NDARRAY_TYPE, PTR), b.address("PyLong_Type"), PTR), "refuse")
    threads = b.extern("PyLong_AsLongLongAndOverflow", "i64", (PTR, given), (PTR, overflow))  # -1 if too large
    b.require(b.icmp("ult", b.sub(threads, "1", I64), str(MOST_THREADS), I64), "refuse")
    b.ret(b.emit(f"call ptr @attempt(ptr %args, i64 %nargs, i64 {threads}, ptr null, ptr %node)"), "ptr")
    b.label("refuse")
    b.ret(REFUSED, "ptr")


def _attempt(b: Flow) -> None:
    """The call itself; `REFUSED` if the arguments do not fit."""
    n_symbols, n_results = b.field("%node", abi.NODE_SYMBOLS), b.field("%node", abi.NODE_RESULTS)
    slots = b.emit(f"alloca i64, i64 {b.field('%node', abi.NODE_SLOTS)}")
    made = b.emit(f"alloca ptr, i64 {n_results}")
    n_spans = b.add("%nargs", n_results, I64)
    spans = b.emit(f"alloca [3 x i64], i64 {n_spans}")
    elements = b.call("@bind", "i64", (PTR, "%args"), (I64, "%nargs"), (PTR, "%node"), (PTR, slots), (PTR, spans))
    b.require(b.icmp("sge", elements, "0", I64), "refuse")
    words = b.gep(slots, b.add("%nargs", n_symbols, I64), "i64")
    b.store("%threads", words, I64)
    status = b.gep(words, "1", "i64")
    for k in range(STATUS_WORDS):
        b.set_field(b.field("%node", abi.NODE_TABLE) if k == 1 else "0", status, 8 * k)
    results = b.gep(words, str(1 + STATUS_WORDS), "i64")
    with b.when(b.icmp("ne", n_results, "0", I64)):
        b.cond_br(b.icmp("eq", "%out", "null", PTR), "new", "given")
        b.label("given")
        shared = [(PTR, x) for x in ("%node", slots, results, made, spans)]
        b.require(b.call("@given_results", "i1", *shared, (I64, "%nargs"), (PTR, "%out")), "refuse")
        b.br("made")
        b.label("new")
        b.require(b.call("@new_results", "i1", *shared, (I64, "%nargs"), (PTR, "%args")), "failed")
        b.br("made")
        b.label("made")
    temporaries, n_temporaries = b.gep(results, n_results, "i64"), b.field("%node", abi.NODE_TEMPORARIES)
    with b.when(b.icmp("ne", n_temporaries, "0", I64)):
        taken = b.call("@take_temporaries", "i1", (PTR, "%node"), (PTR, slots), (PTR, temporaries))
        b.require(taken, "no_memory")
    size = b.field("%node", abi.NODE_ARENA_BYTES)
    is_small = b.icmp("ule", size, str(STACK_ARENA_BYTES), I64)
    b.cond_br(is_small, "stack", "heap")
    b.label("stack")
    room = b.emit(f"alloca i8, i64 {b.add(size, '64', I64)}")
    on_stack = b.gep(room, b.and_(b.sub("0", b.cast("ptrtoint", room, PTR, I64), I64), "63", I64), "i8")
    b.br("ready")
    b.label("heap")
    on_heap = b.call("@lamina.pool.take", "ptr", (I64, size))
    b.require(b.icmp("ne", on_heap, "null", PTR), "no_arena")
    heap = b.block
    b.br("ready")
    b.label("ready")
    arena = b.phi(PTR, (on_stack, "stack"), (on_heap, heap))
    b.store(arena, b.gep(temporaries, n_temporaries, "i64"), PTR)
    _run(b, slots, elements)
    with b.when(b.icmp("ugt", size, str(STACK_ARENA_BYTES), I64)):
        b.call("@lamina.pool.give", "void", (PTR, arena))
    with b.when(b.icmp("ne", n_temporaries, "0", I64)):
        b.call("@give_temporaries", "void", (PTR, temporaries), (I64, n_temporaries))
    b.require(b.icmp("eq", b.load(status, I64), "0", I64), "stopped")
    b.ret(b.call("@answer", "ptr", (PTR, made), (I64, n_results)), "ptr")

    b.label("stopped")
    b.call("@drop", "void", (PTR, made), (I64, n_results))
    _raise(b, status)
    b.label("no_arena")
    b.call("@give_temporaries", "void", (PTR, temporaries), (I64, n_temporaries))
    b.br("no_memory")
    b.label("no_memory")
    b.extern("PyErr_NoMemory", "ptr")
    b.call("@drop", "void", (PTR, made), (I64, n_results))
    b.br("failed")
    b.label("failed")
    b.ret("null", "ptr")
    b.label("refuse")
    b.ret(REFUSED, "ptr")


def _run(b: Flow, slots: str, elements: str) -> None:
    """The machine code, without the GIL if the call is worth it."""
    invoke = b.field("%node", abi.NODE_INVOKE, PTR)
    b.cond_br(b.icmp("slt", elements, b.field("%node", abi.NODE_HEAVY), I64), "held", "released")
    b.label("held")
    b.call(invoke, "void", (PTR, slots))
    b.br("ran")
    b.label("released")
    thread = b.extern("PyEval_SaveThread", "ptr")
    b.call(invoke, "void", (PTR, slots))
    b.extern("PyEval_RestoreThread", "void", (PTR, thread))
    b.br("ran")
    b.label("ran")


def _raise(b: Flow, status: str) -> None:
    """Let the `failed` object of the node raise for the words of status."""
    words = [b.field(status, 8 * k) for k in range(STATUS_WORDS)]
    letters = "L" * STATUS_WORDS
    text = f'@status.format = private constant [{STATUS_WORDS + 1} x i8] c"{letters}\\00"'
    format, _ = b.module.globals.setdefault("status.format", ("@status.format", text))
    call = b.module.declare("PyObject_CallFunction", "ptr", ("ptr", "ptr", "..."))
    numbers = ", ".join(f"i64 {word}" for word in words)
    failed = b.field("%node", abi.NODE_FAILED, PTR)
    b.ret(b.emit(f"call ptr (ptr, ptr, ...) {call}(ptr {failed}, ptr {format}, {numbers})"), "ptr")
