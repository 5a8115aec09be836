"""Every pass takes a number of steps that is linear in the size of a graph.

Steps are calls (`counted_steps.py`): the machine and its load do not matter. By default a few graphs of a hundred ops;
`-m slow` has 200 of up to 2,000.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from counted_steps import FORMS, TooManySteps, check_growth, check_growth_of, steps_of, steps_of_text
from shapes import SHAPES, Graph, drawn

BY_NAME = {graph.name: graph for graph in SHAPES}


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize(
    ("name", "form", "n"),
    [
        ("tree", "plain", 80),
        ("rows", "plain", 64),
        ("fan", "plain", 48),
        ("twice", "plain", 64),
        ("squares", "vmap", 40),
        ("squares", "grad", 32),
    ],
)
def test_some_shapes(name: str, form: str, n: int) -> None:
    steps_of(BY_NAME[name], 10, form)
    check_growth(BY_NAME[name], n, form)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_shapes_and_forms(name: str, form: str) -> None:
    steps_of(BY_NAME[name], 10, form)
    for n in (100, 1000) if form == "plain" else (50, 200):
        check_growth(BY_NAME[name], n, form)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(2, 75))
def test_drawn_of_all_sizes(seed: int) -> None:
    """73 graphs in one of the forms; two sizes each of these and of the shapes make more than 200 pairs."""
    graph = Graph(f"drawn {seed}", drawn(seed))
    form = list(FORMS)[seed % len(FORMS)]
    steps_of(graph, 10, form)
    check_growth(graph, (20, 50, 100, 200)[seed % 4], form)


def chain(n: int, call: str) -> str:
    """Functions, each of which calls the one before it."""
    type = "tensor<8xf32>"
    one, result = (
        f"func.func private @f0(%x: {type}) -> {type} {{ return %x : {type} }}\n",
        type if call == "func" else f"({type})",
    )
    for k in range(1, n):
        one += f"""func.func private @f{k}(%x: {type}) -> {type} {{
          %y = {call}.call @f{k - 1}(%x) : ({type}) -> {result}
          %z = graph.tanh %y : {type}
          return %z : {type}
        }}
        """
    return f"""{one} func.func @main(%x: {type}) -> {type} {{
      %y = {call}.call @f{n - 1}(%x) : ({type}) -> {result}
      return %y : {type}
    }}"""


@pytest.mark.thorough
@pytest.mark.parametrize("call", ["func", "graph"])
def test_chains_of_calls(call: str) -> None:
    steps_of_text(chain(4, call))
    check_growth_of(call, 40, lambda size, most: steps_of_text(chain(size, call), most))


@pytest.mark.slow
def test_a_chain_may_be_long() -> None:
    steps_of_text(chain(400, "graph"))


def test_what_doubles_is_stopped() -> None:
    """A function that visits a graph as a tree is found, without waiting for its end."""

    def slow(x: object, n: int) -> object:
        def visit(k: int) -> int:
            return 1 if k == 0 else visit(k - 1) + visit(k - 1)

        visit(n)
        return BY_NAME["chain"].make(x, n)

    with pytest.raises(TooManySteps, match="visit"):
        check_growth(Graph("slow", slow), 16, "plain")
