"""What xDSL does not verify: that every operand is defined where it is used.

`verify_module` is xDSL's verification of every op plus this, with the first error at its op. Each op is visited once; a value
is visible inside the block after its op, in blocks that its block dominates, and in regions nested there unless isolated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, NoTerminator
from xdsl.utils.exceptions import VerifyException

from ..errors import is_interruption
from .foreign import WORDED, rule_of
from .types import is_unsigned, scalar_of
from .verified import Verified
from .vocabulary import SIGNED_OPS


class InvalidIR(VerifyException):
    """IR that does not verify, with the op at fault; notes are messages, each with a location."""

    def __init__(self, op: Operation, message: str, notes: Sequence[tuple[str, Any]] = ()) -> None:
        super().__init__(message)
        self.op = op
        self.notes = list(notes)
        self.location = op.location


def verify_module(module: Operation) -> None:
    """Verify a module and everything in it.

    Raises:
        InvalidIR: the first op at fault, with the rule it breaks.
    """
    for error in errors_in(module):
        raise error


def errors_in(op: Operation) -> Iterator[InvalidIR]:
    """All errors of an op and the ops in it, in textual order; at most one for each op.

    A module of ops that verify must also be safe to run (`module_rules.py`).
    """
    valid = True
    for error in _Checker().op(op):
        valid = False
        yield error
    if valid and isinstance(op, ModuleOp):
        from .module_rules import errors_in_module

        for place, message in errors_in_module(op):
            yield InvalidIR(place, message)


class _Checker:
    def __init__(self) -> None:
        self.visible: set[SSAValue] = set()
        self.verified = Verified()

    def op(self, op: Operation, reachable: bool = True) -> Iterator[InvalidIR]:
        error = self._error(op, reachable)
        if error is not None:
            yield error
        outer = self.visible
        for region in op.regions:
            if op.has_trait(IsolatedFromAbove):
                self.visible = set()
            yield from self._region(op, region)
            self.visible = outer

    def _error(self, op: Operation, reachable: bool) -> InvalidIR | None:
        """The first error of an op, without those in its regions."""
        error = _own_error(op, self.verified)
        return self._undefined_operand(op) if error is None and reachable else error

    def _undefined_operand(self, op: Operation) -> InvalidIR | None:
        for k, value in enumerate(op.operands):
            if value not in self.visible:
                name = f" %{value.name_hint}" if value.name_hint else ""
                return InvalidIR(op, f"'{op.name}' op operand #{k}{name} is not defined before this use")
        return None

    def _region(self, op: Operation, region: Region) -> Iterator[InvalidIR]:
        blocks = list(region.blocks)
        if len(blocks) == 1:
            added: list[SSAValue] = []
            yield from self._block(op, blocks[0], added)
            self.visible.difference_update(added)
            return
        children, reached = _dominator_tree(blocks)
        if blocks:
            yield from self._subtree(op, blocks[0], children)
        for block in blocks:
            if block not in reached:
                for inner in block.ops:
                    yield from self.op(inner, reachable=False)

    def _subtree(self, op: Operation, root: Block, children: dict[Block, list[Block]]) -> Iterator[InvalidIR]:
        """A block and the blocks it dominates; an explicit stack, as such trees are as deep as the function is long."""
        stack: list[tuple[Block, list[SSAValue] | None]] = [(root, None)]
        while stack:
            block, done = stack.pop()
            if done is not None:
                self.visible.difference_update(done)
                continue
            added: list[SSAValue] = []
            yield from self._block(op, block, added)
            stack.append((block, added))
            stack.extend((child, None) for child in reversed(children.get(block, ())))

    def _block(self, parent: Operation, block: Block, added: list[SSAValue]) -> Iterator[InvalidIR]:
        if block.first_op is None:
            single = block.parent is not None and len(block.parent.blocks) == 1
            if not single:
                yield InvalidIR(parent, f"'{parent.name}' op holds an empty block")
            elif not parent.has_trait(NoTerminator) and not _is_named_structured(parent):
                yield InvalidIR(parent, f"'{parent.name}' op region needs a terminator, its block is empty")
        self._define(block.args, added)
        if isinstance(parent, ModuleOp):  # as in MLIR, the order of ops in a module means nothing
            for op in block.ops:
                self._define(op.results, added)
        for op in block.ops:
            if op.regions:
                yield from self.op(op)
            elif (error := self._error(op, True)) is not None:
                yield error
            self._define(op.results, added)

    def _define(self, values: tuple[SSAValue, ...] | list[SSAValue], added: list[SSAValue]) -> None:
        for value in values:
            if value not in self.visible:
                self.visible.add(value)
                added.append(value)


def _own_error(op: Operation, verified: Verified) -> InvalidIR | None:
    """The errors of the op itself, without those in its regions."""
    rule = rule_of(op.name)
    try:
        complaint = next(rule(op), None) if rule is not None and op.name in WORDED else None
        if complaint is None:
            verified.verify(op)
            complaint = next(rule(op), None) if rule is not None else None
    except Exception as error:  # verifiers of foreign dialects raise exceptions of any class
        if is_interruption(error):
            raise
        text = str(error).strip().partition("\n")[0] or type(error).__name__
        if text.startswith("Redefinition of symbol"):
            return _redefinition(op) or InvalidIR(op, text)
        if (found := re.fullmatch(r"'@(.*)' could not be found in symbol table", text)) is not None:
            text = f"'{op.name}' op '{found[1]}' does not reference a valid function"
        return InvalidIR(op, text if text.startswith("'") else f"'{op.name}' op {text}")
    if complaint is not None:
        return InvalidIR(op, f"'{op.name}' op {complaint}")
    if op.name in SIGNED_OPS and is_unsigned(scalar_of(op.operands[0].type)):
        return InvalidIR(op, f"'{op.name}' op is of signed integers, got {op.operands[0].type}")
    return None


def _is_named_structured(op: Operation) -> bool:
    """Whether an op of linalg has a body that its name implies, which xDSL leaves empty (`linalg.matmul`)."""
    return op.name.startswith("linalg.") and op.name not in ("linalg.generic", "linalg.map", "linalg.reduce")


def _redefinition(table: Operation) -> InvalidIR | None:
    """The error of the second op with a name in a symbol table, in upstream's words."""
    first: dict[str, Operation] = {}
    for op in table.regions[0].block.ops:
        name = symbol.data if isinstance(symbol := op.get_attr_or_prop("sym_name"), StringAttr) else None
        if name is None:
            continue
        if name in first:
            notes = [("see existing symbol definition here", first[name].location)]
            return InvalidIR(op, f"redefinition of symbol named '{name}'", notes)
        first[name] = op
    return None


def _dominator_tree(blocks: list[Block]) -> tuple[dict[Block, list[Block]], set[Block]]:
    """The blocks each block immediately dominates, and the blocks reached (Cooper, Harvey, Kennedy)."""
    order = _postorder(blocks[0]) if blocks else []
    number = {block: k for k, block in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {}
    for block in order:
        for successor in _successors(block):
            predecessors.setdefault(successor, []).append(block)
    idom: dict[Block, Block] = {blocks[0]: blocks[0]} if blocks else {}
    changed = True
    while changed:
        changed = False
        for block in reversed(order[:-1]):
            known = [p for p in predecessors[block] if p in idom]
            new = known[0]
            for other in known[1:]:
                a, b = new, other
                while a is not b:
                    while number[a] < number[b]:
                        a = idom[a]
                    while number[b] < number[a]:
                        b = idom[b]
                new = a
            if idom.get(block) is not new:
                idom[block] = new
                changed = True
    children: dict[Block, list[Block]] = {}
    for block, parent in idom.items():
        if block is not parent:
            children.setdefault(parent, []).append(block)
    return children, set(number)


def _successors(block: Block) -> tuple[Block, ...]:
    return tuple(block.last_op.successors) if block.last_op is not None else ()


def _postorder(entry: Block) -> list[Block]:
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, rest = stack[-1]
        for successor in rest:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(_successors(successor))))
                break
        else:
            order.append(block)
            stack.pop()
    return order
