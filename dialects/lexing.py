"""The lexer of textual IR: xDSL's, whose usual tokens are found by one regular expression, at a quarter of the cost.

Numbers with a point or in hexadecimal, strings, symbols and metadata are left to xDSL.
"""

from __future__ import annotations

import re
from typing import Any

from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRTokenKind

_USUAL = re.compile(
    r"(?:[ \t\r\n\f\v]|//[^\n]*)*+"
    r"(?:([A-Za-z_][A-Za-z0-9_$.]*+)"  # a bare identifier
    r"|(%(?:[0-9]++|[A-Za-z$._-][A-Za-z0-9$._-]*+))"  # a value
    r"|([:,()}\[\]<>=+/*?|]|->|-(?!>)|\{(?!-#))"
    r"|([1-9][0-9]*+(?!\.)))",
    re.ASCII,
)
_KINDS: tuple[Any, ...] = (None, MLIRTokenKind.BARE_IDENT, MLIRTokenKind.PERCENT_IDENT, None, MLIRTokenKind.INTEGER_LIT)
_PUNCTUATION = 3


class LexedSpan(Span[str]):
    """A span whose text is known."""

    text: str = ""


class LexedToken(Token[MLIRTokenKind, str]):
    """A token whose text is known."""

    text: str = ""


class LaminaLexer(MLIRLexer):
    """A string literal. xDSL's own pattern takes exponential time for a string that does not end."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> Token[MLIRTokenKind, str]:
        found = _USUAL.match(self.input.content, self.pos)
        if found is None:
            return super().lex()
        group = found.lastindex or 0
        text = found[group]
        self.pos = end = found.end()
        span = LexedSpan.__new__(LexedSpan)
        # a frozen dataclass would set its fields by one call each
        _set(span, "__dict__", {"start": end - len(text), "end": end, "input": self.input, "line_offset": 0, "text": text})
        token = LexedToken.__new__(LexedToken)
        token.kind = KIND_BY_PUNCTUATION_SPELLING[text] if group == _PUNCTUATION else _KINDS[group]  # pyright: ignore
        token.span, token.text = span, text
        return token


_set = object.__setattr__
