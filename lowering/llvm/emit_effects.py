"""Effects: calls of `lamina_callback` (`runtime/effects.py`), after each of which a host function continues or ends.

The function gets, in words of 8 bytes, the address and the sizes of each buffer. The condition of an assertion is tested
inline, so that one that holds costs a load.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from ...codegen.text import I8, I64, PTR
from ...dialects.loop.effects import CallbackOp
from ...dialects.types import shape_of
from .emit_core import Effect, FunctionEmitter
from .emit_host import buffer_sizes

SYMBOL = "lamina_callback"


def _callback(e: FunctionEmitter, op: CallbackOp) -> None:
    b, end = e.b, e.b.fresh_label("happened")
    if op.kind.data == "assert" and op.mask is not None:
        _unless_all_hold(e, op.mask, op, end)
    words = e.alloca(f"[{sum(1 + len(shape_of(v)) for v in op.operands) or 1} x i64]", 8)
    at = 0
    for buffer in op.operands:
        b.store(e.value(buffer, op), b.gep(words, str(at), I64), PTR, 8)
        for k, size in enumerate(_sizes(e, buffer, op)):
            b.store(size, b.gep(words, str(at + 1 + k), I64), I64, 8)
        at += 1 + len(shape_of(buffer))
    assert e.status is not None  # functions with effects take it
    number = e.module.numbers[op]
    callee = b.module.declare(SYMBOL, "i64", ("i64", "ptr", "ptr"))
    result = b.emit(f"call i64 {callee}(i64 {number}, ptr {words}, ptr {e.status})")
    b.store(result, e.status, I64, 8)
    e.leaves = True
    b.cond_br(b.icmp("eq", result, "0", I64), end, "exit")
    b.label(end)


def _sizes(e: FunctionEmitter, buffer: SSAValue, op: Operation) -> list[str]:
    shape = shape_of(buffer)
    if DYNAMIC_INDEX not in shape:
        return list(map(str, shape))
    return [str(size) if isinstance(size, int) else e.value(size, op) for size in buffer_sizes(buffer, op)]


def _unless_all_hold(e: FunctionEmitter, mask: SSAValue, op: Operation, end: str) -> None:
    """Go to `end` if no element of a buffer of bools is false."""
    b, flags, count = e.b, e.value(mask, op), "1"
    for size in _sizes(e, mask, op):
        count = size if count == "1" else b.mul(count, size, I64)
    at = e.alloca("i64", 8)
    b.store("0", at, I64, 8)
    head, body, broken = (b.fresh_label(f"assert.{part}") for part in ("head", "body", "broken"))
    b.br(head)
    b.label(head)
    k = b.load(at, I64, 8)
    b.cond_br(b.icmp("slt", k, count, I64), body, end)
    b.label(body)
    b.store(b.add(k, "1", I64), at, I64, 8)
    b.cond_br(b.icmp("ne", b.load(b.gep(flags, k, I8), I8, 1), "0", I8), head, broken)
    b.label(broken)


EFFECTS: dict[str, Effect] = {"loop.callback": _callback}
