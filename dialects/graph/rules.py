"""Rewrite rules as data: an equation, the op at its root, a function that applies it, how exact it is, and an example.

From one declaration come the canonicalization pattern of the op, the sweep of `graph-simplify`, the property test (before and
after agree on the example, with random and edge inputs) and the line in the docs. The rules themselves stand in
`rules_elementwise.py`, `rules_shape.py` and `rules_contract.py`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from ... import debug_counters, extensions
from ...errors import ExtensionError, SizeError
from ..types import element_of, is_float
from .base import OPS, GraphOp
from .builder import GraphBuilder, dense_array
from .create import ConstOp
from .shape import BroadcastOp, ReshapeOp

EXACT = "exact"
"""Every result bit-identical, NaN payloads aside."""
REASSOCIATING = "reassociating"
"""Sums and products in another order, as every reduction is free to take them."""


def ulp(k: int) -> str:
    """Results differ by at most k units in the last place."""
    return f"ulp({k})"


Apply = Callable[[Any, GraphBuilder], SSAValue | None]
Example = Callable[[Any, SSAValue, SSAValue, SSAValue, SSAValue], SSAValue]


@dataclass(frozen=True)
class Rule:
    """One rewrite: `apply(op, b)` returns the value to use instead of the op's result, or None where it does not fire.

    Attributes:
        example: `example(b, x, y, i, j)` builds a graph on which the rule fires, from x, y : tensor<2x3xf32> and
            i, j : tensor<2x3xi32>.
    """

    root: str
    equation: str
    apply: Apply
    example: Example
    numerics: str = EXACT

    @property
    def name(self) -> str:
        return self.apply.__name__

    @property
    def op_name(self) -> str:
        """The full name of the op at the root."""
        return self.root if "." in self.root else f"graph.{self.root}"


RULES: list[Rule] = []
FILES = ("rules_elementwise", "rules_shape", "rules_contract")


def rule(root: str | Iterable[str], equation: str, example: Example, numerics: str = EXACT) -> Callable[[Apply], Apply]:
    """Declare a rule on ops `graph.<root>`, or on each of several; the example is of the first."""

    def declare(apply: Apply) -> Apply:
        for name in (root,) if isinstance(root, str) else root:
            RULES.append(Rule(name, equation, apply, example, numerics))
        return apply

    return declare


@cache
def rules_by_root() -> dict[str, tuple[Rule, ...]]:
    """The rules of each op, in the order in which they are tried."""
    for file in FILES:
        importlib.import_module(f".{file}", __package__)
    found: dict[str, tuple[Rule, ...]] = {}
    extensions.load()
    for entry in RULES:
        found[entry.op_name] = (*found.get(entry.op_name, ()), entry)
    return found


def register_rule(root: str, equation: str, example: Example, numerics: str = EXACT) -> Callable[[Apply], Apply]:
    """Add a rule of another package on the ops of a full name, `graph.tanh` or one of its own; tried after those there are.

    Args:
        root: the op that is replaced.
        equation: the text of the rewrite, `x + 0 -> x`, for readers.
        example: as `Rule.example`: builds a graph on which the rule fires; `lamina.testing.check_rule` runs it.
        numerics: `exact`, `reassociating`, or `ulp(k)`.

    Returns:
        A decorator of `apply(op, b)`: the value to use instead of the op's result, of the same type, or None.

    Raises:
        ExtensionError: `root` is not the name of an op with one result, or another package has a rule of that name.
    """
    cls = OPS.get(root.removeprefix("graph."))
    if cls is None or cls.name != root:
        close = difflib.get_close_matches(root, [known.name for known in OPS.values()], 2)
        hint = f", did you mean {' or '.join(close)}?" if close else ""
        raise ExtensionError(f"register_rule: there is no op '{root}'{hint}")

    def declare(apply: Apply) -> Apply:
        extensions.add("rule", f"{root} {apply.__name__}", apply.__module__)
        RULES[:] = [known for known in RULES if (known.op_name, known.name, known.apply.__module__) != _key(root, apply)]
        RULES.append(Rule(root.removeprefix("graph."), equation, apply, example, numerics))
        rules_by_root.cache_clear()
        return apply

    return declare


def _key(root: str, apply: Apply) -> tuple[str, str, str]:
    return root, apply.__name__, apply.__module__


def apply_rules(op: GraphOp, rules: Sequence[Rule]) -> tuple[SSAValue, str] | None:
    """The first replacement that a rule has for an op, and the rule's name; new ops are inserted before the op."""
    b = GraphBuilder(InsertPoint.before(op), op.location)
    before = op.prev_op
    for entry in rules:
        try:
            value = entry.apply(op, b)
        except SizeError:  # the rule needs to know more of a symbolic size
            value = None
            _drop_new(op, before)
        if value is not None:
            if value.type == op.results[0].type and debug_counters.allows(entry.name):
                debug_counters.count(entry.name)
                return value, entry.name
            _drop_new(op, before)  # `?` dims: the rule would lose a known size; or the user disabled it
    return None


def _drop_new(op: GraphOp, before: Operation | None) -> None:
    """Erase the ops between two."""
    while op.prev_op is not before:
        unused = op.prev_op
        assert unused is not None
        unused.detach()
        unused.erase()


class RulePattern(RewritePattern):
    """The rules of one op as a pattern for xDSL's drivers."""

    def __init__(self, root: str, rules: Sequence[Rule]):
        self.root, self.rules = root, rules

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if op.name == self.root and isinstance(op, GraphOp):
            found = apply_rules(op, self.rules)
            if found is not None:
                rewriter.replace(op, (), (found[0],))


def canonicalization_patterns(name: str) -> tuple[RewritePattern, ...]:
    """The patterns of an op, for its `get_canonicalization_patterns`."""
    return (RulePattern(name, rules_by_root().get(name, ())),)


def document() -> str:
    """The documentation page of all rules: their equations and how exact each is."""
    lines = [
        "# Rewrite rules",
        "",
        "What `canonicalize` and `graph-simplify` replace, generated from the declarations in `dialects/graph/rules_*.py`",
        "(`python -c 'from lamina.dialects.graph.rules import document; print(document(), end=\"\")' > docs/rules.md`).",
        "",
        "- `exact`: every result bit-identical, NaN payloads aside.",
        "- `reassociating`: sums and products in another order, as every reduction is free to take them.",
        "- `ulp(k)`: results at most k units in the last place apart.",
    ]
    rules_by_root()
    roots: dict[str, list[str]] = {}
    shown: dict[str, Rule] = {}
    for entry in RULES:
        shown.setdefault(entry.name, entry)
        roots.setdefault(entry.name, []).append(entry.root)
    for file in FILES:
        lines += [
            "",
            f"## {file.removeprefix('rules_').capitalize()}",
            "",
            "| rule | of | what becomes what | numerics |",
            "|---|---|---|---|",
        ]
        for name, entry in shown.items():
            if entry.apply.__module__.endswith(file):
                equation = entry.equation.replace("|", "\\|")
                lines.append(
                    f"| {name.strip('_').replace('_', ' ')} | {' '.join(roots[name])} | `{equation}` | {entry.numerics} |"
                )
    return "\n".join(lines) + "\n"


# --------------------------------------------------------------------------------------------------------------------
# Accessors


def made_by(value: SSAValue, name: str) -> Any:
    """The op that computes a value if it is `graph.<name>`, else None."""
    owner: Any = value.owner
    return owner if type(owner) is not Block and owner.name == f"graph.{name}" else None


def splat(value: SSAValue) -> Any:
    """The one number that all elements of a value are known to be, or None."""
    owner = value.owner
    while type(owner) in (BroadcastOp, ReshapeOp):
        owner = owner._operands[0].owner  # pyright: ignore[reportAttributeAccessIssue]
    if type(owner) is not ConstOp:
        return None
    array = dense_array(owner.value).reshape(-1)
    if array.size == 1:
        return array[0]
    if array.size > 64 or array.size == 0:
        return None
    as_bytes = np.ascontiguousarray(array).view(np.uint8).reshape(array.size, -1)
    return array[0] if (as_bytes == as_bytes[:1]).all() else None


def is_splat(value: SSAValue, number: float | int | bool) -> bool:
    """Whether all elements are a number; 0.0 and -0.0 are distinct."""
    known = splat(value)
    return known is not None and bool(known == number) and bool(np.signbit(float(known)) == np.signbit(float(number)))


def holds_floats(value: SSAValue) -> bool:
    return is_float(element_of(value))
