"""What is known of a kernel, kept while nothing changes it.

Strategies, checks of steps and emission ask the same things again and again: which ops stand in a loop, what changes from lane
to lane, by how much an access moves. `keeping(kernel)` keeps the answers; who changes the kernel meanwhile calls `forget`, as a
transaction does for each step that it takes.

    with facts.keeping(kernel):
        ...                       # questions
        facts.forget()
        rewrite(kernel)           # nothing is kept until this is done
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from typing import Any, ParamSpec, TypeVar

from xdsl.ir import Operation

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")
_Step = TypeVar("_Step")
_Kernel = TypeVar("_Kernel", bound=Operation)


class Facts:
    """The ops of a kernel in the order of the text, where those in each op and block begin and end, and other answers.

    Attributes:
        spans: of the blocks, and of the ops that have any.
        inside: the ops and the blocks.
    """

    def __init__(self, kernel: Operation):
        self.ops: list[Operation] = []
        self.spans: dict[object, tuple[int, int]] = {}
        self.answers: dict[Any, Any] = {}
        self._add(kernel)

    @cached_property
    def inside(self) -> set[object]:
        return {*self.ops, *self.spans}

    def _add(self, op: Operation) -> None:
        ops, begin = self.ops, len(self.ops)
        ops.append(op)
        for region in op.regions:
            block = region._first_block
            while block is not None:
                first = len(ops)
                inner = block._first_op
                while inner is not None:
                    if inner.regions:
                        self._add(inner)
                    else:
                        ops.append(inner)
                    inner = inner._next_op
                self.spans[block] = first, len(ops)
                block = block._next_block
        self.spans[op] = begin, len(ops)


class _State(threading.local):
    kernel: Operation | None = None
    """The kernel whose facts are kept."""
    facts: Facts | None = None
    before: Facts | None = None
    """What was known when the change that goes on began."""


_state = _State()


@contextmanager
def keeping(kernel: Operation) -> Iterator[None]:
    """Keep what is found out about a kernel meanwhile, and about no other one."""
    before = _state.kernel, _state.facts
    _state.kernel, _state.facts = kernel, None
    try:
        yield
    finally:
        _state.kernel, _state.facts = before


@contextmanager
def changing() -> Iterator[None]:
    """Forget what is kept, and keep nothing meanwhile."""
    kernel, outer = _state.kernel, _state.before
    _state.before, _state.kernel, _state.facts = _state.facts, None, None
    try:
        yield
    finally:
        _state.kernel, _state.before = kernel, outer


def forget() -> None:
    """Forget what is kept: something has changed."""
    _state.facts = None


def known(about: object) -> Facts | None:
    """The facts of the kernel that an op or a block is in, if they are kept."""
    facts = _state.facts
    if facts is None:
        if _state.kernel is None:
            return None
        facts = _state.facts = Facts(_state.kernel)
    return facts if about in facts.spans or about in facts.inside else None


def kept(function: Callable[_Asked, _Answer]) -> Callable[_Asked, _Answer]:
    """A question whose first argument is an op or a block, whose answer is kept. Nobody may change it."""

    @wraps(function)
    def asked(*about: _Asked.args, **more: _Asked.kwargs) -> _Answer:
        facts = None if more else known(about[0])
        if facts is None:
            return function(*about, **more)
        key, answers = (function, *about), facts.answers
        if key in answers:
            return answers[key]
        answer = answers[key] = function(*about, **more)
        return answer

    return asked


def at_first(question: Callable[_Asked, _Answer], *about: _Asked.args, **more: _Asked.kwargs) -> _Answer:
    """The answer of a kept question for who changes the kernel, but so far nothing that the answer tells of."""
    before, key = _state.before, (getattr(question, "__wrapped__", None), *about)
    return before.answers[key] if before is not None and key in before.answers else question(*about, **more)


def planned(plan: Callable[[_Step, _Kernel], _Answer]) -> Callable[[_Step, _Kernel], _Answer]:
    """What a step is going to do to a kernel, which its check asks for, kept for its rewrite if that asks first of all."""

    @wraps(plan)
    def asked(step: _Step, kernel: _Kernel) -> _Answer:
        key, facts = (plan, step), known(kernel)
        if facts is not None:
            if key not in facts.answers:
                facts.answers[key] = plan(step, kernel)
            return facts.answers[key]
        before = _state.before
        return before.answers.pop(key) if before is not None and key in before.answers else plan(step, kernel)

    return asked
