"""Numbers that decide the default schedule have a row in thresholds.py, with a walk in the benchmark of cliffs."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamina.thresholds import THRESHOLDS

ROOT = Path(__file__).parent.parent.parent
STRATEGIES = sorted((ROOT / "lowering" / "strategies").glob("*.py"))
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
GRAPH = sorted([*(ROOT / "dialects" / "graph").glob("*.py"), *(ROOT / "transforms").rglob("*.py")])
IN_BITS = re.compile(r"bits|width")
"""What is compared with a bare number nevertheless: the width of a type, which no benchmark decides."""


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and abs(node.value) > 2


def unnamed(tree: ast.Module) -> Iterator[str]:
    """Module constants that are made of numbers alone, and comparisons of sizes with a bare number."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(map(is_number, values := [*ast.walk(node.value)])):  # type: ignore[arg-type]
            if all(isinstance(one, ast.Constant | ast.BinOp | ast.operator | ast.Tuple | ast.Load) for one in values):
                yield f"{node.lineno}: {ast.unparse(node)}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(op, ORDER) for op in node.ops):
            if any(map(is_number, (node.left, *node.comparators))) and not IN_BITS.search(ast.unparse(node)):
                yield f"{node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("path", STRATEGIES, ids=lambda path: path.stem)
def test_strategies_compare_with_named_thresholds(path: Path) -> None:
    assert list(unnamed(ast.parse(path.read_text()))) == [], "give the number a row in thresholds.py"


LIMITS = {
    "dialects/graph/attention.py": "dims of an operand",
    "dialects/graph/base.py": "types that are kept",
    "dialects/graph/conv.py": "the tiles of Winograd's algorithm that there are",
    "dialects/graph/eig.py": "iterations, after which there is no convergence",
    "dialects/graph/fft.py": "of an algorithm: kernels/ will have it",
    "dialects/graph/matrices.py": "of an algorithm: kernels/ will have it",
    "dialects/graph/random.py": "Threefry's numbers",
    "dialects/graph/rules.py": "elements that a rule looks at: time of the compiler",
    "dialects/graph/rules_elementwise.py": "elements that are folded: time of the compiler",
    "dialects/graph/scan.py": "of an algorithm: kernels/ will have it",
    "dialects/graph/schur.py": "iterations, after which there is no convergence",
    "dialects/graph/sort_loops.py": "of an algorithm: kernels/ will have it",
    "dialects/graph/top_k.py": "of an algorithm: kernels/ will have it",
    "dialects/graph/winograd_transforms.py": "the window of Winograd's algorithm",
    "transforms/_ahead.py": "elements of weights that are computed ahead: memory",
    "transforms/_fold_control.py": "elements that are folded: time of the compiler",
    "transforms/_repeats.py": "periods that are tried: time of the compiler",
    "transforms/graph_name_sizes.py": "letters",
    "transforms/graph_simplify.py": "rewrites: an end of a loop of the compiler",
    "transforms/target/graph_pack_dots.py": "the sign of a byte",
    "transforms/target/graph_winograd.py": "an order of dims",
}
"""Files with numbers that decide nothing which a benchmark could show, and what these are."""


def test_loop_forms_and_passes_compare_with_named_thresholds() -> None:
    found = {str(path.relative_to(ROOT)): lines for path in GRAPH if (lines := [*unnamed(ast.parse(path.read_text()))])}
    assert {file: lines for file, lines in found.items() if file not in LIMITS} == {}, "give the number a row in thresholds.py"
    assert not {file for file in LIMITS if (ROOT / file).exists()} - {*found}, "these have no such numbers any more"


def test_unnamed_thresholds_are_found() -> None:
    text = "MOST = 4 << 20\nTWO = 2\ndef f(n, bits):\n    return n > 8 and n != 8 and n < MOST and bits < 32 and n >= 1"
    assert list(unnamed(ast.parse(text))) == ["1: MOST = 4 << 20", "4: n > 8"]


def test_each_row_is_read_where_its_name_says() -> None:
    read = set()
    for path in (*STRATEGIES, *GRAPH):
        names = re.findall(r'\b(?:number|ratio)\("([^"]+)"\)', path.read_text())
        room = "" if path in STRATEGIES else f"{path.parent.name}."
        assert {name.rpartition(".")[0] for name in names} <= {room + path.stem.removeprefix("graph_").strip("_")}
        read.update(names)
    assert read == set(THRESHOLDS)


def test_each_row_has_a_walk_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delitem(sys.modules, "bench_cliffs", raising=False)
    import bench_cliffs

    walks = {walk.name: walk for walk in bench_cliffs.WALKS}
    assert [name for name, row in THRESHOLDS.items() if row.walk not in walks] == []
    assert all(size - 1 in walk.sizes() and size + 1 in walk.sizes() for walk in walks.values() for size in walk.thresholds)
    assert all(row.unit and row.trades.endswith(".") for row in THRESHOLDS.values())
