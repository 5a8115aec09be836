"""Suggestions in messages: the name that was probably meant, and the syntax of an op."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.context import Context

TYPE_NAMES = {
    **{"float": "f32", "double": "f64", "half": "f16", "int": "i32", "long": "i64", "short": "i16", "char": "i8", "bool": "i1"},
    **{"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "fp16": "f16", "fp32": "f32", "fp64": "f64"},
    **{"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "s8": "i8", "s16": "i16", "s32": "i32", "s64": "i64"},
    **{"uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64", "u8": "ui8", "u16": "ui16", "u32": "ui32"},
    **{"u64": "ui64", "size_t": "index", "complex64": "complex<f32>", "complex128": "complex<f64>"},
}
"""Names of types in other languages, and ours."""

OP_NAMES = {
    **dict.fromkeys(("graph.if", "graph.cond", "graph.switch"), "graph.case"),
    **dict.fromkeys(("graph.matmul", "graph.einsum", "graph.dot_general", "graph.mm"), "graph.dot"),
    **dict.fromkeys(("graph.sum", "graph.reduce_sum", "graph.prod", "graph.mean", "graph.any", "graph.all"), "graph.reduce"),
    **dict.fromkeys(("graph.where", "graph.cond_select"), "graph.select"),
    **dict.fromkeys(("graph.cast", "graph.astype"), "graph.convert"),
    **dict.fromkeys(("graph.conv2d", "graph.convolution"), "graph.conv"),
    **dict.fromkeys(("graph.constant",), "graph.const"),
    **dict.fromkeys(("graph.concatenate", "graph.cat"), "graph.concat"),
}
"""Names of ops in other systems, and ours."""

ELEMENT_TYPES = "i1, i8 to i64, ui8 to ui64, f16, bf16, f32, f64, complex<f32>, index"

_SIGNATURES = {
    "same": " : type of all operands",
    "result": " : type of the result",
    "arrow": " : (types of the operands) -> type of the result",
    "signature": " : (types of the operands) -> (types of the results)",
    "operands": " : (types of the operands)",
}


def closest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant; None where no name is similar.

    The same letters in another order come first, then how many are alike, then beginnings.
    """
    found = get_close_matches(name, list(names), n=4, cutoff=0.65)
    return max(
        found, key=lambda other: (sorted(name) == sorted(other), _likeness(name, other), _alike(name, other)), default=None
    )


def _alike(one: str, other: str) -> int:
    """How many characters two names begin with alike."""
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _likeness(one: str, other: str) -> float:
    return round(SequenceMatcher(None, one, other).ratio(), 2)


def did_you_mean(name: str, names: Iterable[str], mark: str = "'") -> str | None:
    """The question as a remedy; None: no name is near."""
    found = closest(name, names)
    return None if found is None else f"did you mean {mark}{found}{mark}?"


def op_meant(name: str, ctx: Context, stack: Iterable[str] = ()) -> str | None:
    """The registered op that a name was probably meant to be, first among those of its dialect.

    Args:
        stack: dialects whose ops are written without a prefix.
    """
    dialect, dot, rest = name.partition(".")
    if (known := OP_NAMES.get(name if dot else f"graph.{name}")) is not None and ctx.get_optional_op(known) is not None:
        return known
    if not dot:
        prefixes = [*stack, "func", "graph", "arith", "loop"]
        names = {op.name.partition(".")[2]: op.name for each in reversed(prefixes) for op in _ops(each, ctx)}
        found = name if name in names else closest(name, names)
        return None if found is None else names[found]
    registered = sorted(ctx.registered_dialect_names)
    near = dialect if dialect in registered else closest(dialect, registered)
    found = None if near is None else closest(rest, [op.name.partition(".")[2] for op in _ops(near, ctx)])
    return None if found is None else f"{near}.{found}"


def _ops(dialect: str, ctx: Context) -> list[Any]:
    found = ctx.get_optional_dialect(dialect)
    return [] if found is None else list(found.operations)


def syntax_of(cls: Any) -> str | None:
    """The pattern of an op's custom syntax, ours or xDSL's; None: it is written in Python, or there is none."""
    pattern = getattr(cls, "syntax", None) or getattr(cls, "SYNTAX", None)
    if isinstance(pattern, str):
        results = "%result = " if cls.get_irdl_definition().results else ""
        types = str(getattr(cls, "types", getattr(cls, "TYPES", "")))
        return f"{results}{cls.name} {pattern}".rstrip() + _SIGNATURES.get(types, "")
    written = getattr(cls, "assembly_format", None)
    return f"{cls.name} {' '.join(written.split())}" if isinstance(written, str) else None


def example_of(cls: Any) -> str | None:
    """The first op of the example in the docstring of an op; None: there is none."""
    block = re.search(r"```mlir\n(.*?)```", inspect.getdoc(cls) or "", re.DOTALL)
    if block is None:
        return None
    lines = block[1].split("\n")
    start = next((k for k, line in enumerate(lines) if re.search(rf"(?<![\w.]){re.escape(cls.name)}\b", line)), None)
    if start is None:
        return None
    end = start + 1  # continuation lines are indented further
    indent = len(lines[start]) - len(lines[start].lstrip())
    while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > indent:
        end += 1
    return " ".join(line.strip() for line in lines[start:end])


def words_of(cls: Any) -> list[str]:
    """The words of an op's pattern."""
    pattern = getattr(cls, "syntax", None) or getattr(cls, "SYNTAX", None)
    if not isinstance(pattern, str):
        return []
    return re.findall(r"(?:^|[ (?])([a-z_]+)(?=[ ),]|$)", re.sub(r"\(\w+\)", "", pattern))


def how_to_write(cls: Any) -> str | None:
    """The syntax of an op and an example, as a remedy."""
    syntax, example = syntax_of(cls), example_of(cls)
    if syntax is None and example is None:
        return None
    return "; ".join(
        part for part in (f"the syntax is `{syntax}`" if syntax else "", f"an example: `{example}`" if example else "") if part
    )
