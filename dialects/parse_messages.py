"""Messages of the parser: where a text does not parse, what was expected, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from . import hints, text_versions

_OF_SYNTAX = re.compile(r"(?i)\bexpect")
"""Messages for which the syntax of the op is the remedy."""
_SHAPED = ("tensor", "memref", "vector", "complex", "index")


class ExplainedError(ParseError):
    """A parse error with notes at other spans, and a remedy."""

    def __init__(self, span: Any, msg: str, refs: Sequence[tuple[Any, str]] = (), remedy: str | None = None) -> None:
        super().__init__(span, msg)
        self.refs = list(refs)
        self.remedy = remedy


class Messages(Parser):
    """The mixin of the parser that reports errors; the verifier, too, will report those in `deferred`."""

    _open: list[Any]
    """The braces of the regions around the current token."""
    _ops: list[Any]
    """The classes of the ops around it; None before the name of one is read."""
    _defined: dict[str, Any]
    """The last definition of each value."""

    version: int
    """The version of the text, see `text_versions.py`."""

    def start_messages(self) -> None:
        """Set up for a text."""
        self._open, self._ops, self._defined = [], [], {}
        self.deferred: list[ParseError] = []

    # -- context -------------------------------------------------------------------------------------------------------

    def parse_operation(self) -> Operation:
        self._ops.append(None)
        op = self._explained_operation()
        self._ops.pop()
        return op

    def _explained_operation(self) -> Operation:
        depth = len(self._ops)
        try:
            return super().parse_operation()
        except ParseError as error:
            cls = self._ops[-1] if len(self._ops) == depth else None
            if cls is None or isinstance(error, ExplainedError) or not _OF_SYNTAX.search(error.msg):
                raise
            word = self._current_token.text
            meant = (
                hints.did_you_mean(word, hints.words_of(cls)) if self._current_token.kind == MLIRTokenKind.BARE_IDENT else None
            )
            remedy = "; ".join(part for part in (meant, hints.how_to_write(cls)) if part)
            raise ExplainedError(error.span, error.msg, getattr(error, "refs", ()), remedy or None) from None

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        if self._current_token.text != "{":
            return super().parse_optional_region(arguments)
        self._open.append(self._current_token.span)
        region = super().parse_optional_region(arguments)
        self._open.pop()
        return region

    def _get_op_by_name(self, name: str) -> type[Operation]:
        written = name
        if self.version < text_versions.VERSION:
            name = text_versions.upgraded(name, self.version, [cls.name for cls in self._ops if cls is not None])
        cls = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        start = self.lexer.input.content.rfind(written, 0, self.pos)
        if cls is None:
            meant = hints.op_meant(name, self.ctx, self._parser_state.dialect_stack)
            remedy = f"did you mean '{meant}'?" if meant else None
            raise ExplainedError(
                Span(start, start + len(name), self.lexer.input), f"operation {name} is not registered", remedy=remedy
            )
        if self.lexer.input.content[start - 1 : start] != '"':  # custom syntax
            if issubclass(cls, UnregisteredOp):
                span, rule = Span(start, start + len(name), self.lexer.input), f"operation {name} has no custom syntax"
                raise ExplainedError(span, f"{rule}: it is not registered", remedy=f'write "{name}"(...)')
            self._ops[-1] = cls
        return cls

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Any) -> None:
        if name in self.ssa_values:
            before = self._defined.get(name)
            notes = [] if before is None else [(before, "previously defined here")]
            raise ExplainedError(span, f"redefinition of SSA value '%{name}'", notes)
        super()._register_ssa_definition(name, values, span)
        self._defined[name] = span

    def failed_op(self) -> str | None:
        """The name of the op that was being read when an error was raised."""
        return None if not self._ops or self._ops[-1] is None else self._ops[-1].name

    def undefined(self, name: str, span: Any) -> ExplainedError:
        """The error of a value that nothing defines."""
        meant = hints.closest(name, self._defined)
        return ExplainedError(span, f"%{name} is used but not defined", remedy=f"did you mean %{meant}?" if meant else None)

    # -- messages ------------------------------------------------------------------------------------------------------

    def raise_error(self, msg: str, at_position: Any = None, end_position: Any = None) -> NoReturn:
        token = self._current_token
        if at_position is None or at_position == token.span:
            self._raise_better(msg, token)
        if msg.startswith("operand is used with type") and isinstance(at_position, Span):
            self._raise_other_type(msg, at_position)
        at: Any = token.span if at_position is None else at_position
        super().raise_error(msg, at, end_position)

    def _raise_other_type(self, msg: str, span: Span[Any]) -> NoReturn:
        """A value is used with another type than before, in upstream's words."""
        found = re.fullmatch(r"operand is used with type (.*), but has been previously used or defined with type (.*)", msg)
        assert found is not None
        name = span.text.partition("#")[0]
        before = self._defined.get(name[1:])
        notes = [] if before is None else [(before, "prior use here")]
        rule = f"use of value '{name}' expects different type than prior uses: '{found[1]}' vs '{found[2]}'"
        raise ExplainedError(span, rule, notes)

    def _raise_better(self, msg: str, token: Any) -> None:
        """Raise a more specific error, if there is one."""
        at_end = token.kind == MLIRTokenKind.EOF
        got = "the end of the text" if at_end else f"'{token.text}'"
        if msg == " in block definition":
            if at_end and self._open:
                raise ExplainedError(
                    token.span, "expected '}' before the end of the text", [(self._open[-1], "to match this '{'")]
                )
            raise ExplainedError(
                token.span, f"expected an operation, a block label or '}}', got {got}", remedy=self._op_meant(token)
            )
        if msg in ("Expected shape type.", "Expected vector element type", "type expected"):
            what = "a type" if msg.startswith("type") else "an element type"
            meant = hints.TYPE_NAMES.get(token.text) or hints.closest(token.text, _SHAPED)
            remedy = f"did you mean {meant}? " if meant else ""
            if self._ops and self._ops[-1] is not None and not meant and msg.startswith("type"):
                return super().raise_error(f"expected a type, got {got}", token.span)
            raise ExplainedError(
                token.span, f"expected {what}, got {got}", remedy=f"{remedy}element types are {hints.ELEMENT_TYPES}"
            )
        if msg == "operation name expected":
            raise ExplainedError(token.span, f"expected the name of an operation, got {got}")
        if msg == "Could not parse entire input!":
            wanted = "a module" if at_end else "an operation or the end of the text"
            rule = f"expected {wanted}, got {got}"
            raise ExplainedError(token.span, rule, remedy=self._op_meant(token))
        if msg == "expect symbol name":
            msg = "expected a symbol name, as @name"
        elif msg.endswith(" expected"):
            msg = f"expected {msg.removesuffix(' expected')}"
        elif not re.fullmatch(r"Expected '[^']+'", msg):
            return None
        super().raise_error(f"{msg}, got {got}", token.span)
        return None

    def _op_meant(self, token: Any) -> str | None:
        if token.kind != MLIRTokenKind.BARE_IDENT:
            return None
        meant = hints.op_meant(token.text, self.ctx, self._parser_state.dialect_stack)
        return f"did you mean '{meant}'?" if meant else None
