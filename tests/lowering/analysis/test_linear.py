"""Integer points of linear constraints, against enumeration; unbounded sets, nests with symbols, budgets."""

from __future__ import annotations

import doctest
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.lowering.analysis import linear
from lamina.lowering.analysis.linear import System, Undecided

NAMES = "abcd"
COEFFICIENT = st.integers(-4, 4)
ROWS = st.lists(st.tuples(st.booleans(), st.tuples(*[COEFFICIENT] * 4), st.integers(-9, 9)), max_size=5)
BOX = st.lists(st.tuples(st.integers(-4, 6), st.integers(-4, 6)).map(sorted), min_size=1, max_size=4)


def value(terms, constant, point):
    return sum(c * point[name] for name, c in terms.items()) + constant


def boxed(box, rows):
    """The system of a box and further rows, and all its points."""
    system, names = System(), NAMES[: len(box)]
    for name, (low, high) in zip(names, box, strict=True):
        system.ge({name: 1}, -low)
        system.ge({name: -1}, high)
    points = [dict(zip(names, p, strict=True)) for p in product(*[range(low, high + 1) for low, high in box])]
    for equal, coefficients, constant in rows:
        terms = dict(zip(names, coefficients, strict=False))
        (system.eq if equal else system.ge)(terms, constant)
        points = [p for p in points if (r := value(terms, constant, p)) == 0 or (r > 0 and not equal)]
    return system, points


@given(BOX, ROWS)
@settings(max_examples=400, deadline=None)
def test_a_sample_is_a_point_and_none_means_there_is_none(box, rows):
    system, points = boxed(box, rows)
    point = system.sample()
    assert point in points if points else point is None
    assert system.is_empty() == (not points)


@given(BOX, ROWS, st.permutations(NAMES), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_preferred_variables_have_their_least_values(box, rows, order, count):
    system, points = boxed(box, rows)
    prefer = [name for name in order[:count] if name in NAMES[: len(box)]]
    point = system.sample(prefer)
    if not points:
        assert point is None
        return
    assert point in points
    for name in prefer:
        values = {p[name] for p in points}
        least = min((v for v in values if v >= 0), default=max(values))
        assert point[name] == least
        points = [p for p in points if p[name] == least]


@given(BOX, ROWS, st.tuples(*[COEFFICIENT] * 4), st.integers(-5, 5))
@settings(max_examples=300, deadline=None)
def test_bounds_hold_for_every_point(box, rows, coefficients, constant):
    system, points = boxed(box, rows)
    terms = dict(zip(NAMES[: len(box)], coefficients, strict=False))
    low, high = system.bounds(terms, constant)
    assert low is not None and high is not None
    assert all(low <= value(terms, constant, p) <= high for p in points)
    if not rows:
        values = [value(terms, constant, p) for p in points]
        assert (low, high) == (min(values), max(values))


@given(st.lists(st.tuples(st.integers(-23, 23), st.integers(-23, 23), st.integers(-90, 90)), min_size=2, max_size=4))
@settings(max_examples=200, deadline=None)
def test_thin_sets_with_large_coefficients(rows):
    """Gaps between the real and the dark shadow, where planes near the bounds are searched."""
    system, points = boxed([(-15, 15), (-15, 15)], [(False, (a, b), c) for a, b, c in rows])
    point = system.sample()
    assert point in points if points else point is None


@given(st.lists(st.tuples(st.booleans(), st.tuples(*[COEFFICIENT] * 3), st.integers(-9, 9)), max_size=5))
@settings(max_examples=300, deadline=None)
def test_without_a_box(rows):
    """Nothing bounds the variables: a sample still ends, is a point, and None means that no small point is one."""
    system = System()
    constraints = [(equal, dict(zip("abc", coefficients, strict=True)), constant) for equal, coefficients, constant in rows]
    for equal, terms, constant in constraints:
        (system.eq if equal else system.ge)(terms, constant)
    point = system.sample(["a"])

    def holds(p):
        return all((r := value(terms, constant, p)) == 0 or (r > 0 and not equal) for equal, terms, constant in constraints)

    if point is None:
        assert not any(holds(dict(zip("abc", p, strict=True))) for p in product(range(-6, 7), repeat=3))
    else:
        assert holds({"a": 0, "b": 0, "c": 0} | point)


def test_equalities_without_a_solution_by_gcd():
    """2x = 2y + 1 is solvable in rationals, also between bounds, also when it shows as two inequalities."""
    system = System()
    system.eq({"x": 2, "y": -2}, -1)
    assert system.is_empty() and system.sample() is None and system.bounds({"x": 1}) == (1, 0)
    system = System()
    system.ge({"x": 2, "y": -2}, -1)
    system.ge({"x": -2, "y": 2}, 1)
    assert system.is_empty()
    system = System()
    system.eq({"x": 6, "y": 10, "z": 15}, -1)  # no unit coefficient, no two terms without a common factor
    point = system.sample(["z"])
    assert point is not None and 6 * point["x"] + 10 * point["y"] + 15 * point["z"] == 1 and point["z"] == 1


def test_the_gap_that_only_integers_see():
    """Pugh's example: 27 <= 11x + 13y <= 45, -10 <= 7x - 9y <= 4 has rational points and no integer one."""
    system = System()
    system.ge({"x": 11, "y": 13}, -27)
    system.ge({"x": -11, "y": -13}, 45)
    system.ge({"x": 7, "y": -9}, 10)
    system.ge({"x": -7, "y": 9}, 4)
    assert system.sample() is None
    assert system.bounds({"x": 1}) != (1, 0)


def nest(tile, budget=linear.BUDGET):
    """Two instances of `for i < M: for j < N` at `i = tile * t + r`, the first in an earlier tile."""
    system = System(budget=budget)
    for size in "MN":
        system.ge({size: 1})
    for k in "01":
        for index, size in (("i", "M"), ("j", "N")):
            system.ge({index + k: 1})
            system.ge({size: 1, index + k: -1}, -1)
        system.eq({"i" + k: 1, "t" + k: -tile, "r" + k: -1})
        system.ge({"r" + k: 1})
        system.ge({"r" + k: -1}, tile - 1)
    system.ge({"t1": 1, "t0": -1}, -1)
    return system


def test_a_nest_with_symbolic_sizes():
    """No element is written in two tiles; its neighbour is read in the next, from M = 9 on."""
    same = nest(8)
    same.eq({"i0": 1, "i1": -1})
    assert same.sample(["M", "N"]) is None
    next_row = nest(8)
    next_row.eq({"i1": 1, "i0": -1}, -1)
    next_row.eq({"j0": 1, "j1": -1})
    point = next_row.sample(["M", "N"])
    assert point is not None
    assert {name: point[name] for name in ("M", "N", "i0", "i1", "t0", "t1")} == {
        "M": 9, "N": 1, "i0": 7, "i1": 8, "t0": 0, "t1": 1
    }  # fmt: skip
    assert next_row.bounds({"i1": 1, "M": -1}) == (None, -1)
    assert next_row.bounds({"r0": 1}) == (7, 7) and next_row.bounds({"r1": 1}) == (0, 0)
    assert next_row.bounds({"nowhere": 3}, 1) == (None, None)


def test_sizes_that_are_multiples():
    """M = 8q >= 20: the least M is found although an equality gives it, not a bound."""
    system = System()
    system.eq({"M": 1, "q": -8})
    system.ge({"M": 1}, -20)
    assert system.sample(["M"]) == {"M": 24, "q": 3}
    assert system.bounds({"M": 1}) == (24, None)


def test_least_values_below_zero_and_of_unknown_names():
    system = System()
    system.ge({"x": -1}, -3)
    assert system.sample(["x", "y"]) == {"x": -3, "y": 0}
    assert System().sample() == {} and not System().is_empty()
    assert System().bounds({}, 4) == (4, 4)


def test_constants_decide():
    system = System()
    system.ge({"x": 0}, 0)
    assert system.sample() == {"x": 0}
    system.ge({}, -1)
    assert system.is_empty()
    system = System()
    system.eq({}, 1)
    assert system.is_empty()


def test_copies_are_independent():
    system = System()
    system.ge({"x": 1})
    other = system.copy()
    other.ge({"x": -1, "y": 1}, -1)
    other.ge({"y": -1})
    assert other.is_empty() and system.sample() == {"x": 0}


def knapsack(budget):
    """Dense rows with large coefficients over many variables: elimination explodes."""
    system = System(budget=budget)
    for k in range(14):
        row = {f"x{v}": (37 * k + 101 * v + k * v * v) % 97 - 48 for v in range(10)}
        system.ge(row, 5)
        system.ge({name: -c for name, c in row.items()}, 60)
    return system


@pytest.mark.parametrize("budget", [10, 2000, linear.BUDGET])
def test_a_spent_budget_is_undecided(budget):
    for question in (System.sample, System.is_empty, lambda s: s.bounds({"x0": 1, "x3": 5})):
        with pytest.raises(Undecided):
            question(knapsack(budget))


def test_a_minimum_beyond_the_budget_is_still_a_point():
    """Preferences never make a question undecidable that is decided without them."""
    for budget in range(8, 80):
        system = System(budget=budget)
        for name in "abc":
            system.ge({name: 1})
            system.ge({name: -1}, 100)
        system.eq({"a": 6, "b": 10, "c": -15}, -7)
        try:
            system.sample()
        except Undecided:
            continue
        point = system.sample(["c", "b"])
        assert point is not None and value({"a": 6, "b": 10, "c": -15}, -7, point) == 0
    assert point["c"] == 1


def test_work_in_the_common_case():
    """A dependence question writes few rows: a small budget is enough."""
    system = nest(8, budget=120)
    system.eq({"i1": 1, "i0": -1}, -1)
    assert system.sample(["M", "N"]) is not None


def test_examples():
    assert doctest.testmod(linear).failed == 0
