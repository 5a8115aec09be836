"""Cached analyses of a kernel, valid while nothing changes it.

Strategies, checks of primitives and emission repeat the same queries: the ops in a loop, the values that differ between lanes,
the stride of an access. `keeping(kernel)` caches the answers; code that changes the kernel meanwhile calls `forget`, as a
transaction does for each primitive that it applies.

    with facts.keeping(kernel):
        ...                       # queries
        facts.forget()
        rewrite(kernel)           # nothing is cached until this is done
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
    """The ops of a kernel in the order of the text, the spans of ops and blocks in that order, and other cached answers.

    Attributes:
        spans: the ranges of blocks, and of ops with blocks.
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
    """The kernel whose analyses are cached."""
    facts: Facts | None = None
    before: Facts | None = None
    """The cache at the beginning of the current change."""


_state = _State()


@contextmanager
def keeping(kernel: Operation) -> Iterator[None]:
    """Cache the analyses of a kernel in this context, and of no other one."""
    before = _state.kernel, _state.facts
    _state.kernel, _state.facts = kernel, None
    try:
        yield
    finally:
        _state.kernel, _state.facts = before


@contextmanager
def changing() -> Iterator[None]:
    """Clear the cache, and cache nothing in this context."""
    kernel, outer = _state.kernel, _state.before
    _state.before, _state.kernel, _state.facts = _state.facts, None, None
    try:
        yield
    finally:
        _state.kernel, _state.before = kernel, outer


def forget() -> None:
    """Clear the cache: the kernel has changed."""
    _state.facts = None


def known(about: object) -> Facts | None:
    """The cache of the kernel that contains an op or a block, if it has one."""
    facts = _state.facts
    if facts is None:
        if _state.kernel is None:
            return None
        facts = _state.facts = Facts(_state.kernel)
    return facts if about in facts.spans or about in facts.inside else None


def kept(function: Callable[_Asked, _Answer]) -> Callable[_Asked, _Answer]:
    """Caches a function whose first argument is an op or a block. Callers must not change its results."""

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
    """The cached answer of a query, for code that changes the kernel but nothing yet that the answer depends on."""
    before, key = _state.before, (getattr(question, "__wrapped__", None), *about)
    return before.answers[key] if before is not None and key in before.answers else question(*about, **more)


def planned(plan: Callable[[_Step, _Kernel], _Answer]) -> Callable[[_Step, _Kernel], _Answer]:
    """The plan of a rewrite, computed by a primitive's check and kept for its rewrite if that runs next."""

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
