"""Locations in text: positions for ops without a location, and aliases of locations, which may be defined after their use.

    %y = arith.addf %x, %x : f32 loc(#loc1)
    #loc1 = loc("model.py":3:7)

As upstream prints them, names of locations are defined at the end of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.utils.mlir_lexer import MLIRTokenKind

_int = lru_cache(1 << 12)(IntAttr)
MOST_PARTS = 1 << 16
"""Attributes that an alias may stand for."""
_MODULES = ("module", "builtin.module", '"builtin.module"')
_DEFINITION = re.compile(r"^(#[\w.$-]+)\s*=\s*(?=loc\b)", re.MULTILINE)


class Locations(Parser):
    """The mixin of the parser that gives each op a location."""

    def start_locations(self, text: str, name: str) -> None:
        """Set up for a text."""
        self._line_starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._file = StringAttr(name)
        self._tops: list[int] = []
        """Where the ops of the module that were read so far begin."""
        self._name_starts: list[int] = []
        """Positions of the names of the ops around the current token; for an op whose name was not read yet, of its results."""
        self._is_wrapped = False
        """Whether the text has a module around its ops."""
        self._ahead: dict[str, int] | None = None
        """Where location aliases that were not read yet are defined; None before the first."""
        self._met_early: set[str] = set()
        self._sizes: dict[int, tuple[int, Attribute]] = {}
        """The number of attributes in each alias, by its attribute, which is kept alive so that its identity stays unique."""

    def location_at(self, position: int) -> FileLineColLoc:
        """The file, line and column (from 1) of a position in the text."""
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        location = FileLineColLoc.__new__(FileLineColLoc)
        # every op gets one: built without the constructor's checks, which hold here
        object.__setattr__(location, "__dict__", {"filename": self._file, "line": _int(line), "column": _int(column)})
        return location

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        if len(self._name_starts) == self._is_wrapped:
            if not self._name_starts and self.lexer.input.content.startswith(_MODULES, start):
                self._is_wrapped = True
            else:
                self._tops.append(start)
        self._name_starts.append(start)
        op = super().parse_operation()
        start = self._name_starts.pop()
        if op.location is UNKNOWN_LOC:
            op.location = self.location_at(start)
        return op

    def name_start(self) -> int:
        """The position of the name of the op that is being read."""
        return self._name_starts[-1]

    def top_level_start(self, position: int) -> int | None:
        """Where the module's op that contains a position begins, results included; None before the first."""
        before = bisect_right(self._tops, position)
        return self._tops[before - 1] if before else None

    def _parse_op_result_list(self) -> Any:
        found = super()._parse_op_result_list()
        self._name_starts[-1] = self._current_token.span.start
        return found

    def _parse_location(self) -> LocationAttr:
        """As xDSL, but names may be defined later, and a position may have an end, which is not kept."""
        token = self._current_token
        if token.kind == MLIRTokenKind.HASH_IDENT and token.text not in self.attribute_aliases:
            self._read_ahead(token)
        found = super()._parse_location()
        if isinstance(found, FileLineColLoc) and self.parse_optional_keyword("to") is not None:
            self.parse_optional_integer(False, False)
            self.parse_punctuation(":")
            self.parse_integer(False, False)
        return found

    def _read_ahead(self, token: Any) -> None:
        """Read the later definition of a location alias, if there is one."""
        if self._ahead is None:
            self._ahead = {found[1]: found.end() for found in _DEFINITION.finditer(self.lexer.input.content)}
        at = self._ahead.pop(token.text, None)  # so that an alias defined by itself is not looked up again
        if at is None:
            return
        self._resume_from(at)
        location = self.parse_optional_location()
        if location is not None:
            self.attribute_aliases[token.text] = location
            self._met_early.add(token.text)
        self._resume_from(token.span.start)

    def _parse_alias_def(self) -> None:
        name = self._current_token.text
        if name in self._met_early:  # its definition, at last
            self._met_early.discard(name)
            del self.attribute_aliases[name]
        start = self._current_token.span
        super()._parse_alias_def()
        self._require_small(self.attribute_aliases[name], start)

    def _require_small(self, value: Attribute, span: Any) -> None:
        """Refuse aliases that are huge when expanded, such as types that each hold the previous one twice."""
        size = self._size(value)
        if size > MOST_PARTS:
            self.raise_error(f"the alias stands for {size} attributes in one another, the limit is {MOST_PARTS}", span)

    def _size(self, value: Attribute) -> int:
        """How many attributes one holds, with itself."""
        known = self._sizes.get(id(value))
        if known is None:
            known = self._sizes[id(value)] = 1 + sum(map(self._size, _inside(value))), value
        return known[0]


def _inside(value: Any) -> Iterator[Attribute]:
    """The attributes directly inside an attribute."""
    data = getattr(value, "data", ())
    parts = data.values() if isinstance(data, Mapping) else data if isinstance(data, tuple) else ()
    yield from (part for part in (*getattr(value, "parameters", ()), *parts) if isinstance(part, Attribute))


def failed_part(text: str, op_start: int, error_start: int) -> tuple[int, int] | None:
    """The lines of an op with an error, up to its next sibling; None if these cannot be determined."""
    begin = text.rfind("\n", 0, op_start) + 1
    indentation = text[begin:op_start]
    if indentation.strip():
        return None
    after: Any = re.compile(rf'^{indentation}(?=[\w"#!%@])', re.MULTILINE).search(text, max(error_start, op_start + 1))
    line = text.rfind("\n", 0, error_start) + 1
    if line > op_start and re.match(rf'{indentation}[\w"#!%@]', text[line:]):
        return begin, line
    if after is not None:
        return begin, after.start()
    end = len(text.rstrip()) - 1  # the closing brace after the last op of a module stays
    return begin, end if indentation and text[end] == "}" and end > error_start else len(text)
