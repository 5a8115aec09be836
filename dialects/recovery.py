"""All syntax errors of a text: after a top-level op that does not parse, the rest is read without it.

The parser stops at an error. The op around it, a function or a kernel, is blanked out up to the next line that begins an op at
the same indentation, and the text is read again, so that each op is judged as if the others were right.
"""

from __future__ import annotations

import re

from xdsl.context import Context
from xdsl.utils.exceptions import ParseError

from .parsing import LaminaParser

MOST_ERRORS = 20
"""Largest number of errors that are reported."""
LONGEST = 1 << 20
"""Largest text that is read again for further errors, in characters."""


def syntax_errors(ctx: Context, text: str, name: str, first: ParseError) -> list[ParseError]:
    """The syntax errors of a text in order, at most one for each top-level op; `first` is the one that the parser met."""
    found: dict[int, ParseError] = {}
    error: ParseError | None = first
    while error is not None:
        for each in (*getattr(error, "earlier", ()), error):
            found.setdefault(each.span.start, each)
        failed = getattr(error, "failed", None)
        if failed is None or len(text) > LONGEST or len(found) >= MOST_ERRORS:
            break
        start, end = failed
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
        error = _error_in(ctx, text, name)
    return [found[at] for at in sorted(found)]


def _error_in(ctx: Context, text: str, name: str) -> ParseError | None:
    if not text.strip():
        return None
    try:
        LaminaParser(ctx, text, name).parse_module()
    except ParseError as error:
        return error
    return None
