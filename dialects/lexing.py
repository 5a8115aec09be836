"""The lexer of textual IR: xDSL's, whose usual tokens are found by one regular expression, at a quarter of the cost.

Strings are read by another, which takes a second for 10 MB. Numbers with a point or in hexadecimal, symbols and metadata are
left to xDSL.
"""

from __future__ import annotations

import re
from typing import Any

from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRTokenKind, StringLiteral

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
        token.kind = KIND_BY_PUNCTUATION_SPELLING[text] if group == _PUNCTUATION else _KINDS[group]
        token.span, token.text = span, text
        return token

    def _lex_string_literal(self, start_pos: int) -> Token[MLIRTokenKind, str]:
        found = self._unescaped_characters_regex.match(self.input.content, start_pos)
        if found is None:
            return super()._lex_string_literal(start_pos)
        self.pos = found.end()
        is_text = "\\" not in found[0] or unescaped(found[0]).isascii()
        return Token(
            MLIRTokenKind.STRING_LIT if is_text else MLIRTokenKind.BYTES_LIT, StringLiteral(start_pos, self.pos, self.input)
        )


_ESCAPE = re.compile(rb"\\(?:[0-9A-Fa-f]{2}|.)")
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"\\": b"\\", b'"': b'"'}


def unescaped(literal: str) -> bytes:
    """The bytes that a string literal, with its quotes and valid escapes, stands for.

    >>> unescaped(r'"a\\22\\n"')
    b'a"\\n'
    """
    return _ESCAPE.sub(_escaped, literal[1:-1].encode())


def _escaped(found: re.Match[bytes]) -> bytes:
    code = found[0][1:]
    return _ESCAPED[code] if code in _ESCAPED else bytes.fromhex(code.decode())


_set = object.__setattr__
