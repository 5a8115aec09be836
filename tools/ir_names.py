"""Names in textual IR and their scopes, found without parsing: the text is being edited and may be wrong anywhere."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"?)"
    r"|(?P<value>%[\w$.-]+(?:#\d+)?)"
    r"|(?P<symbol>@[\w$.-]+|@\"[^\"\n]*\")"
    r"|(?P<block>\^[\w$.-]+)"
    r"|(?P<type>![\w$.]+)"
    r"|(?P<word>[A-Za-z_][\w$.]*)"
    r"|(?P<number>\d[\w.]*)"
    r"|(?P<arrow>->)"
    r"|(?P<mark>[(){}\[\]<>=,:\n])"
)
_SHORT_OPS = ("return", "module", "func", "call", "br", "cond_br", "yield")
"""Ops that may be written without their dialect."""


@dataclass(frozen=True)
class Token:
    """A piece of text with a meaning of its own: `kind` is the name of a group of the expression above."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def name(self) -> str:
        """Of a value without the number of its result: `%a#1` is of `%a`."""
        return self.text.partition("#")[0] if self.kind == "value" else self.text


@dataclass
class Scope:
    """The values and blocks of a region: names with the position of their first occurrence, which defines them."""

    parent: Scope | None
    values: dict[str, Token]
    end: int

    def find(self, name: str) -> Token | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        return None

    def names(self) -> Iterator[str]:
        scope: Scope | None = self
        while scope is not None:
            yield from scope.values
            scope = scope.parent


class Names:
    """The tokens of a text, the definition of each value and symbol, and the scopes that values are in.

    A region's scope begins with the header of its op: the arguments of a function and the variables of a loop belong to it, the
    results of the op to the region around it. Cost: linear in the text.

    >>> names = Names("func.func @f(%x: i32) {\\n  %y = graph.neg %x : i32\\n}")
    >>> names.definition(names.at(40)).start
    13
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [Token(m.lastgroup or "", m[0], m.start()) for m in _TOKEN.finditer(text) if m.lastgroup != "comment"]
        self._starts = [token.start for token in self.tokens]
        self._scopes: list[Scope] = []
        self.symbols: dict[str, Token] = {}
        self._read()

    def at(self, offset: int) -> Token | None:
        """The name at an offset, or just before it."""
        k = bisect_right(self._starts, offset) - 1
        if k < 0:
            return None
        token = self.tokens[k]
        if token.kind == "mark" and token.start == offset and k > 0 and self.tokens[k - 1].end == offset:
            token = self.tokens[k - 1]
        return token if offset <= token.end and token.kind not in ("mark", "string", "arrow", "number") else None

    def definition(self, token: Token | None) -> Token | None:
        """The definition of the value or the symbol that a token names."""
        if token is None:
            return None
        if token.kind == "symbol":
            return self.symbols.get(token.text)
        return self.scope_at(token.start).find(token.name) if token.kind in ("value", "block") else None

    def scope_at(self, offset: int) -> Scope:
        """The innermost scope around an offset."""
        k = bisect_right(self._starts, offset) - 1
        return self._scopes[max(k, 0)] if self._scopes else Scope(None, {}, len(self.text))

    def uses(self, definition: Token) -> list[Token]:
        """All uses of the name that a token defines, itself first."""
        return [
            t
            for t in self.tokens
            if t.kind == definition.kind and t.name == definition.name and self.definition(t) == definition
        ]

    def _read(self) -> None:
        top = Scope(None, {}, len(self.text))
        scope, opened = top, list[Scope | str]()
        for start, end in self._statements():
            statement = self.tokens[start:end]
            results = _results(statement)
            for token in statement[:results]:
                if token.kind == "value":
                    scope.values.setdefault(token.name, token)
            if statement and statement[-1].text == "{" and _opens_region(statement):
                inner = Scope(scope, {}, len(self.text))
                opened.append(scope)
            else:
                inner = None
            here = inner if inner is not None else scope
            is_label = bool(statement) and statement[0].kind == "block"
            if is_label:
                here.values.setdefault(statement[0].text, statement[0])
            depth = 0
            for k, token in enumerate(statement):
                in_results = k < results
                depth += (token.text == "(") - (token.text == ")")
                self._scopes.append(scope if in_results else here)
                if token.kind == "value" and not in_results and (is_label or inner is not None):
                    follows = statement[k + 1].text if k + 1 < len(statement) else ""
                    before = statement[k - 1].text if k else ""
                    if follows == "=" or (follows == ":" and depth and before != "="):
                        here.values[token.name] = token
                if token.kind == "symbol" and _defines(statement, k):
                    self.symbols.setdefault(token.text, token)
                if token.text == "}" and opened:
                    scope.end = token.end
                    last = opened.pop()
                    scope = last if isinstance(last, Scope) else scope
                    here = scope if inner is None else here
                elif token.text == "{" and inner is None:
                    opened.append("")
            if inner is not None:
                scope = inner

    def _goes_on(self, newline: int) -> bool:
        """Whether a statement continues in the line behind a newline, by the tokens around it."""
        before = self.tokens[newline - 1].text if newline else "\n"
        k = newline + 1
        while k < len(self.tokens) and self.tokens[k].text == "\n":
            k += 1
        if k == len(self.tokens):
            return False
        after = self.tokens[k]
        is_clause = after.kind == "word" and "." not in after.text and after.text not in _SHORT_OPS
        return before == "," or after.text in ("->", ":", ",", "=") or (is_clause and before not in ("\n", "{", "}"))

    def _statements(self) -> Iterator[tuple[int, int]]:
        """Ranges of tokens: a line, or several where brackets are open; one ends behind the brace that opens a region."""
        start, depth = 0, 0
        for k, token in enumerate(self.tokens):
            if token.text in ("(", "["):
                depth += 1
            elif token.text in (")", "]"):
                depth = max(0, depth - 1)
            elif token.text == "{" and _opens_region(self.tokens[start : k + 1]):
                yield start, k + 1
                start, depth = k + 1, 0
            elif token.text == "\n" and depth == 0 and not self._goes_on(k):
                yield start, k + 1
                start = k + 1
        if start < len(self.tokens):
            yield start, len(self.tokens)


def _results(statement: Sequence[Token]) -> int:
    """How many tokens at the beginning are the list of results, with its `=`."""
    for k, token in enumerate(statement):
        if token.text == "=":
            return k + 1
        if token.kind not in ("value", "mark") or token.text in ("{", "("):
            return 0
    return 0


def _opens_region(statement: Sequence[Token]) -> bool:
    """Whether the brace at the end of a statement opens a region; else it opens a dictionary or a target."""
    before = [token for token in statement[:-1] if token.text != "\n"]
    if not before:
        return True
    last = before[-1]
    return last.text != "attributes" and last.text != "=" and not (last.text == "<" or last.kind == "type")


def _defines(statement: Sequence[Token], k: int) -> bool:
    """Whether a symbol is the one that the op of a statement defines: it follows its name, maybe a visibility."""
    words = [token for token in statement[:k] if token.text != "\n"]
    if any(token.text in ("=", "(", "%") or token.kind in ("value", "symbol") for token in words):
        return False
    return bool(words) and "." in words[0].text and words[0].text.rpartition(".")[2] not in ("call", "launch")
