"""Reachability between groups of ops as they grow: the stored bits agree with a search."""

from __future__ import annotations

import random

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.transforms._fusion_groups import Group, Groups
from xdsl.ir import Operation


def _searched(op: Operation, goal: Group, groups: Groups) -> bool:
    work = [use.operation for use in op.results[0].uses if groups.of.get(use.operation) is not goal]
    seen: set[Operation] = set()
    while work:
        user = work.pop()
        group = groups.of.get(user)
        if group is goal:
            return True
        for member in group.ops if group is not None else (user,):
            if member not in seen:
                seen.add(member)
                work.extend(use.operation for result in member.results for use in result.uses)
    return False


@pytest.mark.parametrize("seed", range(20))
def test_others_lead_to_a_group_where_a_search_finds_it(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 30)
    lines = [
        f"%v{k} = graph.add {', '.join(rng.choice(['%x', *(f'%v{n}' for n in range(max(0, k - 6), k))]) for _ in 'ab')}"
        for k in range(count)
    ]
    body = "\n".join(f"{line} : tensor<4xf32>" for line in lines)
    text = f"func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{ {body}\n return %v{count - 1} : tensor<4xf32> }}"
    (function,) = parse_module(make_context(), text).body.block.ops
    block = function.regions[0].block
    groups = Groups(block)
    for op in reversed(list(block.ops)):
        if not op.results:
            groups.leave_out(op)
            continue
        for group in groups.formed:
            assert groups.others_lead_to(op, group) == _searched(op, group, groups)
        free = [group for group in groups.formed if not groups.others_lead_to(op, group)]
        choice = rng.choice(("join", "form", "leave"))
        if choice == "join" and free:
            group = rng.choice(free)
            group.points[op] = set()
            groups.join(group, op)
        elif choice == "leave":
            groups.leave_out(op)
        else:
            groups.form(Group(None, {op: set()}), op)
