"""Affine expressions over values and strides of accesses, against evaluation at points."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.dialects.context import make_context
from lamina.dialects.scalar import ScalarBuilder
from lamina.lowering.analysis.affine import Affine, as_map, forms
from lamina.lowering.analysis.lanes import movement
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block
from xdsl.ir.affine import AffineExpr, AffineMap

make_context()
DIMS = 3
CONSTANT = 7
"""What the last value of a map is known to be."""
NUMBER = st.integers(-3, 3)


def combined(inner):
    sums = st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1])
    products = st.tuples(inner, NUMBER).map(lambda pair: pair[0] * pair[1])
    rounded = st.tuples(inner, st.integers(1, 4)).map(lambda pair: pair[0] // pair[1])
    remainders = st.tuples(inner, st.integers(1, 4)).map(lambda pair: pair[0] % pair[1])
    return sums | products | rounded | remainders


EXPR = st.recursive(
    st.sampled_from([AffineExpr.dimension(k) for k in range(DIMS)]) | NUMBER.map(AffineExpr.constant), combined, max_leaves=7
)
MAPS = st.lists(EXPR, min_size=1, max_size=3).map(lambda exprs: AffineMap(DIMS, 0, tuple(exprs)))
POINT = st.tuples(*[st.integers(-9, 9)] * (DIMS - 1))


def values():
    """Two indices and a constant."""
    block = Block(arg_types=[IndexType()] * (DIMS - 1))
    return [*block.args, ScalarBuilder(block).const(CONSTANT, IndexType())]


@given(MAPS, POINT)
@settings(max_examples=300, deadline=None)
def test_forms_and_their_map_have_the_value_of_the_map(map, point):
    dims = values()
    found = forms(map, dims)
    assert found == [Affine.parse(expr, dims) for expr in map.results]
    again, operands = as_map(found)
    assert dims[-1] not in operands and len(set(operands)) == len(operands) == again.num_dims
    at = dict(zip(dims, (*point, CONSTANT), strict=True))
    assert again.eval([at[value] for value in operands], []) == map.eval([*point, CONSTANT], [])


@pytest.mark.thorough
@given(MAPS, st.tuples(*[st.none() | NUMBER] * DIMS), st.tuples(*[st.integers(-9, 9)] * DIMS), st.tuples(*[NUMBER] * DIMS))
@settings(max_examples=500, deadline=None)
def test_movement_is_the_difference_of_neighbours(map, steps, point, unknown):
    found = movement(map, steps)
    if found is None:
        return
    taken = [u if step is None else step for step, u in zip(steps, unknown, strict=True)]
    following = map.eval([x + step for x, step in zip(point, taken, strict=True)], [])
    moved = [after - before for before, after in zip(map.eval(list(point), []), following, strict=True)]
    dim, by = found
    assert moved == [by if k == dim else 0 for k in range(len(moved))]


def test_movement_is_not_known_along_several_dims_or_by_data():
    i, j = AffineExpr.dimension(0), AffineExpr.dimension(1)
    assert movement(AffineMap(2, 0, (i, i + j)), (1, 0)) is None
    assert movement(AffineMap(2, 0, (i, j * 2)), (0, 3)) == (1, 6)
    assert movement(AffineMap(2, 0, (i, j // 2)), (0, 1)) is None
    assert movement(AffineMap(2, 0, (i, j // 2)), (1, 0)) == (0, 1)
    assert movement(AffineMap(2, 0, (i, j)), (0, None)) is None
    assert movement(AffineMap(2, 0, (i, i)), (0, None)) == (0, 0)
