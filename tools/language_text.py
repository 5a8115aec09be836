"""The answers of the language server about a module's text, without the protocol: errors, definitions, pages of ops,
completions.

Lines and columns count from 0 here, as in the language server protocol.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from xdsl.utils.exceptions import ParseError

from ..diagnostics import Diagnostic, from_exception, position_of
from ..dialects.context import OURS, make_context
from ..dialects.dominance import errors_in
from ..dialects.hints import syntax_of, words_of
from ..dialects.parsing import parse_module
from ..dialects.recovery import syntax_errors
from .ir_names import Names, Token

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

_NAME = re.compile(r"[%@^][\w$.-]+|[a-z_]\w*\.[\w.]+|\w+")
_OP = re.compile(r'(?:^|=)\s*"?([a-z_]\w*\.[\w.]+|return|module)\b')
_PASS = re.compile(r"//\s*RUN:.*(?:-p\s*'?|--pass-pipeline='?|--|,)([\w-]*)$")
UPSTREAM = ("func", "arith", "math", "vector", "memref", "scf", "cf")
"""Dialects whose ops are completed beside ours."""


class Span(NamedTuple):
    """Characters of a line, `end` excluded."""

    line: int
    start: int
    end: int


@dataclass(frozen=True)
class Completion:
    """A name that fits at a position: its kind is `op`, `word`, `attribute`, `dialect`, `pass`, `value` or `symbol`."""

    label: str
    kind: str
    detail: str = ""


@lru_cache(maxsize=1)
def _context() -> Any:
    return make_context()


class Document:
    """A text, parsed once."""

    def __init__(self, text: str, name: str = "<text>") -> None:
        self.text, self.name = text, name
        self.lines = text.split("\n")
        self.module: ModuleOp | None = None
        self.diagnostics: list[Diagnostic] = []
        try:
            self.module = parse_module(_context(), text, name)
            self.diagnostics = [from_exception(error) for error in errors_in(self.module)]
        except ParseError as error:
            self.diagnostics += map(from_exception, syntax_errors(_context(), text, name, error))
        except Exception as error:
            self.diagnostics.append(from_exception(error))

    def name_at(self, line: int, column: int) -> tuple[str, Span] | None:
        """The name around a position."""
        for found in _NAME.finditer(self.lines[line]) if line < len(self.lines) else ():
            if found.start() <= column <= found.end():
                return found[0], Span(line, found.start(), found.end())
        return None

    @cached_property
    def names(self) -> Names:
        return Names(self.text)

    def definition(self, line: int, column: int) -> Span | None:
        """Where the value, the symbol or the block at a position is defined."""
        token = self.names.definition(self._token(line, column))
        return None if token is None else self._span(token)

    def references(self, line: int, column: int) -> list[Span]:
        """All uses of the name at a position, its definition first."""
        token = self.names.definition(self._token(line, column))
        return [] if token is None else [self._span(one) for one in self.names.uses(token)]

    @cached_property
    def _starts(self) -> list[int]:
        """Offsets of lines."""
        return [0, *accumulate(len(line) + 1 for line in self.lines)]

    def _token(self, line: int, column: int) -> Token | None:
        return self.names.at(self._starts[line] + column) if line < len(self.lines) else None

    def _span(self, token: Token) -> Span:
        line = bisect_right(self._starts, token.start) - 1
        return Span(line, token.start - self._starts[line], token.end - self._starts[line])

    def hover(self, line: int, column: int) -> str | None:
        """The description of the name at a position, as Markdown: the type of a value, the page of an op."""
        found = self.name_at(line, column)
        if found is None:
            return None
        name = found[0]
        if name[0] == "%":
            type_ = self._type_of(name, self.definition(line, column) or found[1])
            return None if type_ is None else f"```mlir\n{name} : {type_}\n```"
        cls = _context().get_optional_op(name) or _context().get_optional_op(f"func.{name}")
        if cls is None:
            return None
        from .reference import op_page

        return op_page(cls.name, _context())

    def _type_of(self, name: str, where: Span) -> str | None:
        """The type of the value that is defined at a span."""
        if self.module is None:
            return None
        hint = name[1:]
        for op in self.module.walk():
            located: list[tuple[Any, Any]] = [(result, op.location) for result in op.results]
            located += [(arg, arg.location) for region in op.regions for block in region.blocks for arg in block.args]
            for value, location in located:
                if value.name_hint == hint and (place := position_of(location)) is not None and place.line == where.line + 1:
                    return str(value.type)
        return None

    def completions(self, line: int, column: int) -> list[Completion]:
        """The completions at a position: passes in RUN lines, ops, words and attributes of the op of the line."""
        before = self.lines[line][:column] if line < len(self.lines) else ""
        if (found := _PASS.search(before)) is not None:
            from ..passes import all_names, infos

            known = infos()
            return [Completion(name, "pass", known[name].summary if name in known else "xDSL") for name in all_names()]
        if (found := re.search(r"[%@][\w$.-]*$", before)) is not None:
            return self._known_names(found[0], self._starts[line] + max(column - 1, 0))
        if (found := re.search(r'(?:^|=)\s*"?([a-z_]\w*)\.[\w.]*$', before)) is not None:
            dialect = _context().get_optional_dialect(found[1])
            ops = [] if dialect is None else dialect.operations
            return [Completion(op.name, "op", syntax_of(op) or "") for op in ops]
        if (found := _OP.search(before)) is not None and not before.rstrip().endswith("="):
            return _inside(found[1])
        return [Completion(name, "dialect") for name in (*OURS, *UPSTREAM)]

    def _known_names(self, begun: str, offset: int) -> list[Completion]:
        """Values that may be used at an offset, or symbols, that begin so."""
        if begun[0] == "@":
            return [Completion(name, "symbol") for name in self.names.symbols if name.startswith(begun)]
        scope = self.names.scope_at(offset)
        line = bisect_right(self._starts, offset) - 1
        known = {name: scope.find(name) for name in scope.names() if name.startswith(begun)}
        spans = {name: self._span(token) for name, token in known.items() if token is not None}
        return [Completion(name, "value", self._type_of(name, span) or "") for name, span in spans.items() if span.line < line]


def _inside(name: str) -> list[Completion]:
    cls: Any = _context().get_optional_op(name)
    if cls is None or not hasattr(cls, "get_irdl_definition"):
        return []
    words = [Completion(word, "word", syntax_of(cls) or "") for word in dict.fromkeys(words_of(cls))]
    properties = cls.get_irdl_definition().properties
    return words + [Completion(each, "attribute") for each in properties if not each.endswith("Sizes")]
