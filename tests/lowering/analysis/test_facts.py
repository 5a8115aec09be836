"""Facts about a kernel are kept as long as the kernel does not change, and no longer."""

from __future__ import annotations

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.loop.loops import ForOp, KernelOp
from lamina.dialects.parsing import parse_module
from lamina.errors import ScheduleError
from lamina.executor.kernels import find_kernel
from lamina.lowering.analysis import facts
from lamina.lowering.analysis.nests import FreshNames, find, loops, ops_in, walk
from lamina.lowering.schedule.split import Split
from lamina.lowering.schedule.transactions import History, Transaction
from lamina.lowering.schedule.use_threads import UseThreads

ASKED: list[str] = []


KERNEL = """
loop.kernel @scale(%x: memref<9x8xf32>, %y: memref<9x8xf32>) {
  loop.for parallel %i = 0 to 9 {
    loop.for parallel %j = 0 to 8 {
      %a = loop.load %x[%i, %j] : memref<9x8xf32>
      %b = arith.addf %a, %a : f32
      loop.store %b, %y[%i, %j] : memref<9x8xf32>
    }
  }
}
"""


@facts.kept
def count_ops(loop: ForOp, more: int = 0) -> int:
    ASKED.append(loop.index.name_hint or "")
    return len(walk(loop)) + more


def make() -> KernelOp:
    ASKED.clear()
    return find_kernel(parse_module(make_context(), KERNEL))


def test_answers_are_kept_for_each_question_while_asked_for() -> None:
    kernel = make()
    outer = loops(kernel)["i"]
    assert count_ops(outer) == count_ops(outer) and ASKED == ["i", "i"]
    with facts.keeping(kernel):
        assert count_ops(outer) == count_ops(outer) == count_ops(outer, 1) - 1
        assert ASKED == ["i"] * 4
    count_ops(outer)
    assert ASKED == ["i"] * 5


def test_ops_in_a_loop_are_those_that_a_walk_finds() -> None:
    kernel = make()
    found = [list(root.walk()) for root in kernel.walk()]
    with facts.keeping(kernel):
        assert [walk(root) for root in walk(kernel)] == found
        assert ops_in(kernel, ForOp) == [op for op in found[0] if isinstance(op, ForOp)]
        body = loops(kernel)["i"].body.block
        assert walk(body) == [inner for op in body.ops for inner in op.walk()]


def test_a_step_that_is_taken_forgets() -> None:
    kernel = make()
    with facts.keeping(kernel):
        before = count_ops(loops(kernel)["j"])
        outer, inner = Transaction(History(kernel)).take(Split("j", 4))
        assert set(loops(kernel)) == {"i", outer, inner}
        assert count_ops(loops(kernel)[outer]) > before
        assert walk(kernel) == list(kernel.walk())


def test_a_step_that_only_places_loops_keeps_what_is_known() -> None:
    kernel = make()
    with facts.keeping(kernel):
        count_ops(loops(kernel)["j"])
        known = facts.known(kernel)
        Transaction(History(kernel)).take(UseThreads("i"))
        assert known is not None and facts.known(kernel) is known
        assert loops(kernel)["i"].threads is not None  # the step was taken
        Transaction(History(kernel)).take(Split("j", 4))
        assert facts.known(kernel) is not known


def test_what_was_known_at_first_serves_the_beginning_of_a_change() -> None:
    kernel = make()
    with facts.keeping(kernel):
        loop = loops(kernel)["j"]
        count_ops(loop)
        with facts.changing():
            facts.at_first(count_ops, loop)
            assert ASKED == ["j"]
            facts.at_first(count_ops, loops(kernel)["i"])
            assert ASKED == ["j", "i"]
            loop.index.name_hint = "k"
            assert "k" in loops(kernel) and find(kernel, "k", "test") is loop
            with pytest.raises(ScheduleError, match="no loop 'j'"):
                find(kernel, "j", "test")


def test_nothing_is_kept_while_a_kernel_changes_or_about_another_one() -> None:
    kernel = make()
    other = loops(kernel.clone())["i"]
    with facts.keeping(kernel):
        count_ops(other)
        count_ops(other)
        assert ASKED == ["i", "i"]
        with facts.changing():
            count_ops(loops(kernel)["i"])
            count_ops(loops(kernel)["i"])
        assert ASKED == ["i"] * 4


class Planning:
    @facts.planned
    def plan(self, kernel: KernelOp) -> int:
        ASKED.append("plan")
        return len(walk(kernel))


def test_a_rewrite_that_begins_with_the_plan_of_its_check_gets_it_once() -> None:
    kernel, step = make(), Planning()
    with facts.keeping(kernel):
        assert step.plan(kernel) == step.plan(kernel) and ASKED == ["plan"]
        with facts.changing():
            assert step.plan(kernel) == len(walk(kernel)) and ASKED == ["plan"]
            step.plan(kernel)  # the kernel may have changed
            assert ASKED == ["plan"] * 2
        step.plan(kernel)
        assert ASKED == ["plan"] * 3
        with facts.changing():
            Planning().plan(kernel)  # the plan of another step
        assert ASKED == ["plan"] * 4
    step.plan(kernel)
    assert ASKED == ["plan"] * 5


def test_fresh_names_are_given_once() -> None:
    fresh = FreshNames(make(), ["k"])
    assert [fresh.of(name) for name in ("i", "i", "a", "new", "new", "k", "j_rest")] == [
        "i2",
        "i3",
        "a2",
        "new",
        "new2",
        "k2",
        "j_rest",
    ]
