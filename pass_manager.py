"""Nested pipelines: passes that run on each op of a name, as `builtin.module(func.func(cse,canonicalize),loop-auto)` says.

Passes here are passes over modules. One that is anchored at another op runs on a module that holds that op alone, so that it
neither sees nor changes its siblings; ops that it adds, such as kernels, are inserted after the op, under free names.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from . import debug_counters
from .pass_text import Element, option_text
from .passes import UnknownPassError, check, parse_elements, pass_of, run_pass

ANY = "any"
"""The anchor of a pipeline for ops of any name that are isolated from above."""


@dataclass(frozen=True)
class Nest:
    """A pipeline with the op that it runs on.

    Attributes:
        anchor: the name of the ops, or `any`.
        elements: passes and pipelines for ops inside, in order.
    """

    anchor: str
    elements: tuple[ModulePass | Nest, ...]

    def __str__(self) -> str:
        """The pipeline as text that `parse_pipeline` reads."""
        return f"{self.anchor}({','.join(map(text_of, self.elements))})"

    def passes(self) -> Iterator[ModulePass]:
        """All passes in it, in textual order."""
        for element in self.elements:
            if isinstance(element, Nest):
                yield from element.passes()
            else:
                yield element


class Observer(Protocol):
    """Observes every pass that runs. `verify` decides whether an op is verified after each pass on it."""

    verify: bool

    def before(self, one: ModulePass, op: Operation) -> None:
        """A pass is about to run on an op."""

    def after(self, one: ModulePass, op: Operation, seconds: float) -> None:
        """A pass has run, and its result verifies."""

    def failed(self, one: ModulePass, op: Operation, error: BaseException) -> None:
        """A pass raised an error, which propagates from here, or left invalid IR."""


class Quiet(Observer):
    """Observes nothing, and lets ops be verified."""

    verify = True


def text_of(element: ModulePass | Nest, *, defaults: bool = False) -> str:
    """The text of an element in a pipeline, with all options or only those that are not the default."""
    if isinstance(element, Nest):
        return str(element)
    options = element.spec(include_default=defaults).parameters
    shown = [option_text(name.replace("_", "-"), values) for name, values in options.items() if values or not defaults]
    return element.name + (f"{{{' '.join(shown)}}}" if shown else "")


def parse_pipeline(text: str, ctx: Context) -> Nest:
    """A pipeline for a module.

    Args:
        text: with the anchor `builtin.module` or `any`, as mlir-opt wants it, or the elements alone.
        ctx: knows the ops that anchors may name.

    Raises:
        UnknownPassError: the text is malformed, or names a pass, an option or an anchor that does not exist.
    """
    elements = parse_elements(text)
    if len(elements) == 1 and (inner := elements[0].inner) is not None:
        name = elements[0].name
        if name not in ("builtin.module", ANY):
            rule = f"can't run '{name}' pass manager on 'builtin.module' op"
            if difflib.get_close_matches(name, ("builtin.module",), cutoff=0.8):
                raise UnknownPassError(f"pass pipeline: {rule}, did you mean builtin.module?")
            raise UnknownPassError(f"pass pipeline: {rule}: write builtin.module({text.strip()})")
        return Nest(name, tuple(_made(element, ctx) for element in inner))
    return Nest("builtin.module", tuple(_made(element, ctx) for element in elements))


def _made(element: Element, ctx: Context) -> ModulePass | Nest:
    if element.inner is None:
        return pass_of(element)
    if element.name != ANY:
        _require_anchor(element.name, ctx)
    return Nest(element.name, tuple(_made(inner, ctx) for inner in element.inner))


def _require_anchor(name: str, ctx: Context) -> None:
    """Refuse an anchor that is no op, or an op whose regions use values from outside."""
    cls = ctx.get_optional_op(name)
    if cls is None:
        known = [op.name for dialect in ctx.loaded_dialects for op in dialect.operations]
        close = difflib.get_close_matches(name, known, 2)
        hint = f", did you mean {' or '.join(close)}?" if close else ""
        raise UnknownPassError(f"pass pipeline: there is no op '{name}' to run passes on{hint}")
    if not cls.has_trait(IsolatedFromAbove):
        raise UnknownPassError(f"pass pipeline: '{name}' is not isolated from above: passes run on the op around it")


def run_elements(elements: Sequence[ModulePass | Nest], op: Operation, ctx: Context, observer: Observer) -> None:
    """Run the elements of a pipeline on an op, in order."""
    for element in elements:
        if isinstance(element, Nest):
            for inner in _anchored(element.anchor, op):
                run_elements(element.elements, inner, ctx, observer)
        else:
            left = run_observed(element, op, ctx, observer)
            if left is None:
                return
            op = left


def run_observed(one: ModulePass, op: Operation, ctx: Context, observer: Observer) -> Operation | None:
    """Run one pass on an op and notify the observer; returns the op or its replacement, if there is one."""
    if not debug_counters.allows("pass-execution"):
        return op
    observer.before(one, op)
    try:
        start, left = perf_counter(), op
        if isinstance(op, ModuleOp):
            run_pass(op, ctx, one)
        else:
            left = _run_isolated(one, op, ctx)
        seconds = perf_counter() - start
        if observer.verify and left is not None:
            check(left, f"pass '{one.name}' left invalid IR: ")
    except Exception as error:
        observer.failed(one, op, error)
        raise
    if left is not None:
        observer.after(one, left, seconds)
    return left


def _anchored(anchor: str, op: Operation) -> list[Operation]:
    """The ops directly inside an op that an anchor names."""
    inside = (inner for region in op.regions for block in region.blocks for inner in block.ops)
    return [inner for inner in inside if inner.name == anchor or (anchor == ANY and inner.has_trait(IsolatedFromAbove))]


# Running on part of a module


def _run_isolated(one: ModulePass, op: Operation, ctx: Context) -> Operation | None:
    """Run a pass on a module that holds an op alone; the op or its replacement: an op of its symbol or kind, or None."""
    block, following, name, symbol = op.parent, op.next_op, op.name, _symbol(op)
    assert block is not None
    around: Operation | None = op
    while around is not None and not isinstance(around, ModuleOp):
        around = around.parent_op()
    attributes = dict(around.attributes) if around is not None else {}
    op.detach()
    holder = ModuleOp([op], attributes)
    holder.location = op.location
    try:
        run_pass(holder, ctx, one)
        if around is not None:
            _keep_names_apart(holder, around, op)
    finally:
        found = list(holder.body.block.ops)
        for each in found:
            each.detach()
            if following is None:
                block.add_op(each)
            else:
                block.insert_op_before(each, following)
    if op in found:
        return op
    same = [each for each in found if symbol is not None and _symbol(each) == symbol]
    return next(iter(same or [each for each in found if each.name == name]), None)


def _keep_names_apart(holder: ModuleOp, around: Operation, op: Operation) -> None:
    """Rename ops that a pass added so that no sibling of the original op has their names."""
    taken = {name for each in _symbols(around) if (name := _symbol(each)) is not None}
    own = {name for each in holder.body.block.ops if (name := _symbol(each)) is not None}
    renamed: dict[str, str] = {}
    for each in holder.body.block.ops:
        name = _symbol(each)
        if name is not None and name in taken and each is not op:
            number = 0
            while f"{name}_{number}" in taken | own:
                number += 1
            renamed[name] = f"{name}_{number}"
            own.add(renamed[name])
            each_symbol: Any = StringAttr(renamed[name])
            (each.properties if "sym_name" in each.properties else each.attributes)["sym_name"] = each_symbol
    if renamed:
        for each in holder.walk():
            for values in (each.properties, each.attributes):
                for key, value in values.items():
                    values[key] = _renamed(value, renamed)


def _symbols(around: Operation) -> Iterator[Operation]:
    return (each for region in around.regions for block in region.blocks for each in block.ops)


def _symbol(op: Operation) -> str | None:
    found = op.properties.get("sym_name", op.attributes.get("sym_name"))
    return found.data if isinstance(found, StringAttr) else None


def _renamed(value: Attribute, names: dict[str, str]) -> Attribute:
    """An attribute with symbols renamed, also in arrays."""
    from xdsl.dialects.builtin import ArrayAttr

    if isinstance(value, SymbolRefAttr) and value.root_reference.data in names:
        return SymbolRefAttr(names[value.root_reference.data], value.nested_references)
    if isinstance(value, ArrayAttr):
        return ArrayAttr([_renamed(each, names) for each in value.data])
    return value
