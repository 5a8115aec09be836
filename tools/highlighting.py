"""A lexer for pygments, named `lamina`: for `pygmentize -l lamina model.mlir`, and code blocks of Sphinx and mkdocs."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

_WORDS = (
    *(
        "module",
        "func",
        "return",
        "attributes",
        "private",
        "public",
        "dense",
        "loc",
        "true",
        "false",
        "unit",
        "parallel",
        "seq",
    ),
    *("vectorized", "unrolled", "to", "step", "over", "contract", "with", "batch", "dims", "shapes", "work", "at", "of", "wrt"),
)


class IrLexer(RegexLexer):
    """The text of modules: comments, ops, values, symbols, blocks, types, attributes."""

    name = "lamina IR"
    aliases: ClassVar[list[str]] = ["lamina", "mlir-lamina"]
    filenames: ClassVar[list[str]] = ["*.lamina"]
    mimetypes: ClassVar[list[str]] = ["text/x-lamina"]
    tokens: ClassVar[dict] = {  # pyright: ignore[reportMissingTypeArgument, reportIncompatibleVariableOverride]
        "root": [
            (r"\s+", Text),
            (r"//.*?$", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (r"%[\w$.-]+(?:#\d+)?", Name.Variable),
            (r"@(?:[\w$.-]+|\"[^\"]*\")", Name.Function),
            (r"\^[\w$.-]+", Name.Label),
            (r"[!#][\w$.-]+", Name.Decorator),
            (r"\b(?:(?:tensor|memref|vector|complex)(?=<)|index\b|none\b|(?:s|u)?i\d+\b|b?f\d+\w*\b)", Keyword.Type),
            (r"(?<=x)(?:index|(?:s|u)?i\d+|b?f\d+\w*)\b", Keyword.Type),
            (r"0x[0-9a-fA-F]+|-?\d+\.\d*(?:[eE][+-]?\d+)?|-?\d+", Number),
            (r"[?x*](?=[\dx?>a-z])", Operator),
            (r"[a-z_]\w*(?:\.[\w]+)+", Name.Builtin),
            (words(_WORDS, suffix=r"\b"), Keyword),
            (r"\w+", Name),
            (r"->|==|[=:+*/<>-]", Operator),
            (r"[()\[\]{},.;|&]", Punctuation),
            (r".", Text),
        ]
    }
