"""Facts about ops are declared in their classes: no other file lists ops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamina.dialects.facts import Cost
from lamina.dialects.graph import OPS
from lamina.dialects.graph.base import GraphOp
from lamina.dialects.graph.elementwise import ElementwiseOp

ROOT = Path(__file__).parent.parent.parent
ELSEWHERE = ("dialects", "tests", "filecheck", "benchmarks", "examples", "docs", "build")
"""Folders whose files may list ops: the dialects themselves, and what is not the package."""

MONOIDS = {"add", "mul", "max", "min", "and", "or", "argmax", "argmin"}
"""Names of reductions, which are names of ops, too."""

RENUMBERED = {"TransposeOp", "ReduceOp", "ConcatOp"}
"""Ops whose properties `graph_collapse_dims.py` writes for fewer dims: it has a case for each."""

CLASSES = {cls.__name__: cls for cls in OPS.values()}
COMPUTING = {name for name, cls in CLASSES.items() if issubclass(cls, GraphOp)}
"""Ops on values; the others (calls, loops, branches, fusions) are the structure of programs, which passes walk by class."""


TRANSLATIONS = {
    ROOT / "interop" / "stablehlo" / "from_graph.py",
    *(ROOT / "interop" / "onnx" / "from_graph").glob("*.py"),
}
"""Files with a row for each op that another dialect has a form for."""


def sources() -> list[Path]:
    files = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in ELSEWHERE]
    files = [path for path in files if path not in TRANSLATIONS]
    return sorted(path for path in files if not any(part.startswith(".") for part in path.relative_to(ROOT).parts))


def collections_in(tree: ast.AST) -> Iterator[tuple[int, list[ast.expr]]]:
    """The items of sets, tuples, lists, dicts (their keys), unions of classes, and texts that are split into words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Set | ast.Tuple | ast.List):
            yield node.lineno, node.elts
        elif isinstance(node, ast.Dict):
            rows = zip(node.keys, node.values, strict=True)
            yield node.lineno, [key for key, value in rows if key is not None and not is_own_method(value)]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            members = [item for item in members_of(node) if isinstance(item, ast.Name) and item.id in COMPUTING]
            yield node.lineno, [] if {item.id for item in members} <= RENUMBERED else members
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            text = node.func.value
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield node.lineno, [ast.Constant(word) for word in text.value.split()]


def members_of(union: ast.expr) -> Iterator[ast.expr]:
    """The members of `A | B | C`."""
    if isinstance(union, ast.BinOp) and isinstance(union.op, ast.BitOr):
        yield from members_of(union.left)
        yield from members_of(union.right)
    else:
        yield union


def is_own_method(value: ast.expr) -> bool:
    """Whether it is `self.x`: a dict of these is how an interpreter runs each op."""
    return isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == "self"


def lists_of_ops(path: Path) -> list[str]:
    """The literal collections of two or more ops in a file, by name or by class."""
    tree = ast.parse(path.read_text())
    classes = imported_ops(tree)
    found: list[str] = []
    for line, items in collections_in(tree):
        words = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        full = [word for word in words if word.removeprefix("graph.") in OPS and word.startswith("graph.")]
        bare = [word for word in words if word in OPS]
        named = [item.id for item in items if isinstance(item, ast.Name) and item.id in classes]
        is_of_ops = len(bare) == len(items) and not {*bare} <= MONOIDS and reads_graph(path)
        for one in (full, named, bare if is_of_ops else []):
            if len({*one}) > 1:
                found.append(f"{path.relative_to(ROOT)}:{line}: {', '.join(one)}")
    return found


def imported_ops(tree: ast.AST) -> set[str]:
    """The classes of graph ops that a file imports."""
    return {
        name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and ".graph." in f".{node.module}."
        for name in node.names
        if name.name in CLASSES
    }


def reads_graph(path: Path) -> bool:
    """Whether a file knows ops by bare names: NumPy's functions and the kernel language's have some of them, too."""
    return "graph" in path.read_text()


def test_no_file_but_the_dialects_lists_ops(awaited) -> None:
    found = [line for path in sources() for line in lists_of_ops(path)]
    rule = "declare a fact in the classes of the ops (dialects/facts.py), and ask op.facts:"
    assert not found, "\n".join([rule, *found])


@pytest.mark.parametrize("name", sorted(name for name, cls in OPS.items() if issubclass(cls, ElementwiseOp)))
def test_elementwise_ops_say_their_cost(name: str) -> None:
    """What an elementwise op inherits is right for none: it would be expensive, and its sizes not those of its operands."""
    facts = OPS[name].facts
    assert facts is not GraphOp.facts and facts is not ElementwiseOp.facts, f"graph.{name} declares no facts"
    assert facts.covers_operands, f"graph.{name} reads all of its operands"


def test_facts_agree() -> None:
    """What follows from one another."""
    for name, cls in OPS.items():
        if not issubclass(cls, GraphOp):
            continue
        facts = cls.facts
        assert facts.on_parts is None or facts.stores, f"graph.{name} says what it is on complex numbers, and takes none"
        assert not facts.numpy_view or facts.cost is Cost.INDEX, f"graph.{name} is a view in NumPy, and computes something"
        assert not facts.writes_once or cls.nest is not GraphOp.nest, f"graph.{name} writes once, and has no nest"
