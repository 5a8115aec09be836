"""A builder of LLVM IR with loops and structs, used by the native entry, the memory pool and the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from .text import I64, Builder, Module, Ty


class Flow(Builder):
    """A builder with structured control flow, fields of structs, and functions and globals of elsewhere.

    >>> from lamina.codegen.text import PTR
    >>> module = Module()
    >>> def body(b: Flow) -> None:
    ...     with b.when(b.icmp("ne", "%p", "null", PTR)):
    ...         b.set_field("1", "%p", 8)
    ...     b.ret()
    >>> define(module, "void @f(ptr %p)", body)
    >>> print(module.text())
    define void @f(ptr %p) {
    entry:
      %v1 = icmp ne ptr %p, null
      br i1 %v1, label %then.1, label %end.2
    then.1:
      %v2 = getelementptr i8, ptr %p, i64 8
      store i64 1, ptr %v2
      br label %end.2
    end.2:
      ret void
    }
    <BLANKLINE>
    """

    def __init__(self, module: Module | None = None):
        super().__init__(module)
        self.allocas: list[str] = []

    def text(self) -> str:
        """The body so far."""
        return "\n".join([*self.allocas, *self.lines])

    # Blocks

    @property
    def is_terminated(self) -> bool:
        """Whether the current block has ended in a return or a branch."""
        return self.lines[-1].startswith(("  ret ", "  br "))

    def switch(self, value: str, cases: Mapping[int, str], otherwise: str, ty: str = "i64") -> None:
        """Go to the label of the value."""
        labels = " ".join(f"{ty} {number}, label %{label}" for number, label in cases.items())
        self.lines.append(f"  switch {ty} {value}, label %{otherwise} [ {labels} ]")

    def require(self, condition: str, otherwise: str) -> None:
        """Go to a label unless a condition holds."""
        then = self.fresh_label("then")
        self.cond_br(condition, then, otherwise)
        self.label(then)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """The code written in the block runs only where a condition holds; it may end in a return or a branch."""
        then, end = self.fresh_label("then"), self.fresh_label("end")
        self.cond_br(condition, then, end)
        self.label(then)
        yield
        if not self.is_terminated:
            self.br(end)
        self.label(end)

    @contextmanager
    def loop(self, condition: Callable[[], str]) -> Iterator[None]:
        """The code written in the block runs as long as a condition holds, which is written before it."""
        head, body, end = (self.fresh_label(part) for part in ("head", "body", "end"))
        self.br(head)
        self.label(head)
        self.cond_br(condition(), body, end)
        self.label(body)
        yield
        self.br(head)
        self.label(end)

    @contextmanager
    def each(self, count: str) -> Iterator[str]:
        """The code written in the block runs for each index from 0 to `count`, an i64."""
        head, body, end = (self.fresh_label(part) for part in ("head", "body", "end"))
        before, index = self.block, self.name()
        self.br(head)
        self.label(head)
        at = len(self.lines)
        self.cond_br(self.icmp("ult", index, count, I64), body, end)
        self.label(body)
        yield index
        following = self.add(index, "1", I64)
        self.lines.insert(at, f"  {index} = phi i64 [ 0, %{before} ], [ {following}, %{self.block} ]")
        self.br(head)
        self.label(end)

    # Memory

    def stack(self, ty: str) -> str:
        """Memory on the stack, allocated once at the start of the function."""
        pointer = self.name()
        self.allocas.append(f"  {pointer} = alloca {ty}")
        return pointer

    def variable(self, value: str, ty: Ty) -> str:
        """Memory on the stack, which holds a value from here on: the optimizer keeps it in a register."""
        pointer = self.stack(ty)
        self.store(value, pointer, ty)
        return pointer

    def field(self, pointer: str, offset: int, ty: Ty = I64) -> str:
        """Load the field of a struct at an offset in bytes."""
        return self.load(self.gep(pointer, str(offset), "i8", ""), ty)

    def set_field(self, value: str, pointer: str, offset: int, ty: Ty = I64) -> None:
        """Store the field of a struct at an offset in bytes."""
        self.store(value, self.gep(pointer, str(offset), "i8", ""), ty)

    # Memory that threads share

    def atomic_load(self, pointer: str, ty: Ty, ordering: str) -> str:
        return self.emit(f"load atomic {ty}, ptr {pointer} {ordering}, align {ty.bits // 8}")

    def atomic_store(self, value: str, pointer: str, ty: Ty, ordering: str) -> None:
        self.emit_void(f"store atomic {ty} {value}, ptr {pointer} {ordering}, align {ty.bits // 8}")

    def atomic(self, operation: str, pointer: str, value: str, ty: Ty, ordering: str) -> str:
        """Atomically `add`, `sub`, `or` ... a value to memory; the old value."""
        return self.emit(f"atomicrmw {operation} ptr {pointer}, {ty} {value} {ordering}")

    def compare_exchange(self, pointer: str, expected: str, value: str, ty: Ty, orderings: str) -> tuple[str, str]:
        """Compare and exchange: (the old value, whether it was the expected one)."""
        pair = self.emit(f"cmpxchg ptr {pointer}, {ty} {expected}, {ty} {value} {orderings}")
        return self.emit(f"extractvalue {{ {ty}, i1 }} {pair}, 0"), self.emit(f"extractvalue {{ {ty}, i1 }} {pair}, 1")

    # External definitions

    def extern(self, name: str, result: str, *arguments: tuple[str, str]) -> str:
        """`call` of a function of elsewhere, which is declared with these types."""
        return self.call(self.module.declare(name, result, [ty for ty, _ in arguments]), result, *arguments)

    def address(self, name: str) -> str:
        """A global of elsewhere of which only the address is used."""
        return self.module.globals.setdefault(name, (f"@{name}", f"@{name} = external global i8"))[0]


def define(module: Module, header: str, body: Callable[[Flow], None]) -> None:
    """Add a function that `body` writes; `header` goes between `define` and the opening brace."""
    b = Flow(module)
    body(b)
    module.functions[header] = f"define {header} {{\nentry:\n{b.text()}\n}}"


def predicate(module: Module, header: str, body: Callable[[Flow], None]) -> None:
    """Add an internal function that says yes where `body` ends, and no where it goes to the label `no`."""

    def whole(b: Flow) -> None:
        body(b)
        if not b.is_terminated:
            b.ret("true", "i1")
        b.label("no")
        b.ret("false", "i1")

    define(module, f"internal i1 {header}", whole)
