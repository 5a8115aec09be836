"""Lines that kernels print: calls of `lamina_print` (`runtime/prints.py`), after each of which the kernel goes on or ends."""

from __future__ import annotations

from ...codegen.text import I64
from ...dialects.loop.prints import PrintOp
from .emit_core import Effect, FunctionEmitter
from .emit_host import ESCAPES
from .emit_types import memory_type

SYMBOL = "lamina_print"
RAISED = -3


def _print(e: FunctionEmitter, op: PrintOp) -> None:
    b = e.b
    words = e.alloca(f"[{max(1, len(op.values))} x i64]", 8)
    for k, value in enumerate(op.values):
        ty, x = e.ty(value.type, op), e.value(value, op)
        memory = memory_type(ty)
        if memory is not ty:
            x = b.cast("zext", x, ty, memory)
        b.store(x, b.gep(words, str(k), I64), memory, memory.bits // 8)
    head = ",".join(map(str, op.dtypes)) + ("!" if op.flush is not None else "")
    data = f"{head}\n{op.text.data}".encode("utf-8", "surrogatepass")
    key = "print", data
    if key not in b.module.globals:
        name = f"@print.text.{len(b.module.globals)}"
        constant = f'private unnamed_addr constant [{len(data)} x i8] c"{data.decode("latin-1").translate(ESCAPES)}"'
        b.module.globals[key] = name, f"{name} = {constant}"
    text, _ = b.module.globals[key]
    callee = b.module.declare(SYMBOL, "i64", ("ptr", "i64", "ptr"))
    result = b.emit(f"call i64 {callee}(ptr {text}, i64 {len(data)}, ptr {words})")
    went_on, raised = b.fresh_label("printed"), b.fresh_label("unprinted")
    b.cond_br(b.icmp("eq", result, "0", I64), went_on, raised)
    b.label(raised)
    e.leave(str(RAISED), "0")
    b.label(went_on)
    e.doubt()


EFFECTS: dict[str, Effect] = {"loop.print": _print}
