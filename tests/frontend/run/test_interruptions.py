"""Exceptions of signal handlers and exhausted memory end a compilation wherever they occur."""

from __future__ import annotations

import functools
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina import nn
from lamina.errors import is_interruption

SIGNAL = signal.SIGALRM if hasattr(signal, "SIGALRM") else signal.SIGINT


class TimeIsUp(Exception):
    """What a time limit of a user's raises."""


class Limit:
    """A handler that is an object."""

    def __init__(self, kind: type[BaseException]):
        self.kind = kind

    def __call__(self, number: int, frame: FrameType | None) -> None:
        raise self.kind("limit")

    def method(self, number: int, frame: FrameType | None) -> None:
        raise self.kind("limit")


def plain(kind: type[BaseException], number: int, frame: FrameType | None) -> None:
    raise kind("limit")


KINDS = (TimeIsUp, KeyboardInterrupt, MemoryError, TimeoutError, RuntimeError)
"""No AttributeError, KeyError or ValueError: Python itself, and code that expects one, handles those."""


@contextmanager
def interrupted(handler: Callable[[int, FrameType | None], None], at: int) -> Iterator[list[int]]:
    """Raises the signal at the call number `at` of a Python function; the number of calls in its list at the end."""
    calls = [0]

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            calls[0] += 1
            if calls[0] == at:
                signal.raise_signal(SIGNAL)

    before = signal.signal(SIGNAL, handler)
    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        signal.signal(SIGNAL, before)


def rows(x: Any) -> Any:
    """Takes steps of most strategies for rows."""
    for _ in range(4):
        x = x * x + lnp.maximum(x, 0.1) * 0.5
    return nn.softmax(x)


def branches(x: Any) -> Any:
    """Needs values while it is traced, then its source."""
    total, k = x, 0
    while x.sum() > 1:
        total = total + x
        x, k = x / 2, k + 1
    return total * 2 if k > 3 else x


def convolved(x: Any) -> Any:
    """Takes Winograd's algorithm."""
    image = lnp.reshape(x[:, :64], (1, 16, 12, 16)) if x.size == 64 * 48 else x
    return nn.conv2d(image, lnp.ones((16, 16, 3, 3), np.float32), padding="SAME")


X = np.random.default_rng(0).uniform(0.1, 1, (64, 48)).astype(np.float32)


def calls_of(run: Callable[[], Any]) -> int:
    with interrupted(signal.default_int_handler, -1) as calls:
        run()
    return calls[0]


@pytest.mark.parametrize(("function", "make"), [(rows, lm.jit), (branches, lm.jit), (branches, lm.compile), (rows, lm.compile)])
def test_a_compilation_ends(function: Callable[[Any], Any], make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE", "0")
    monkeypatch.delenv("LAMINA_FALLBACKS")
    check_ends(function, make, 6, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("make", [lm.jit, lm.compile])
@pytest.mark.parametrize("function", [rows, branches, convolved])
def test_a_compilation_ends_everywhere(
    function: Callable[[Any], Any], make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMINA_CACHE", "0")
    monkeypatch.delenv("LAMINA_FALLBACKS")
    check_ends(function, make, 300, monkeypatch)


def check_ends(function: Callable[[Any], Any], make: Callable[..., Any], times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt first calls so many times, with each class in turn: it comes out as it is, and the next call is right."""
    expected = np.asarray(make(function)(X))
    count = calls_of(lambda: make(function)(X))
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: ignored.append(event.exc_type))
    draw, made = random.Random(function.__name__), make(function)
    for k in range(times):
        kind, at = KINDS[k % len(KINDS)], draw.randint(1, count * 9 // 10)
        limit = Limit(kind)
        handler = (functools.partial(plain, kind), limit, limit.method)[k % 3]
        made = make(function)
        ignored.clear()
        try:
            with interrupted(handler, at):
                made(X)
        except kind as error:
            assert type(error) is kind and str(error) == "limit"
        else:  # Python ignores what is raised in a callback of a weak reference
            assert ignored == [kind], at
    np.testing.assert_array_equal(np.asarray(made(X)), expected)


def test_what_is_an_interruption() -> None:
    def raised(kind: type[BaseException]) -> BaseException:
        try:
            raise kind
        except BaseException as error:
            return error

    assert not is_interruption(raised(ValueError))
    assert is_interruption(raised(TimeoutError))
    assert not is_interruption(raised(TimeoutError), timeouts=False)
    assert is_interruption(raised(MemoryError))
    with interrupted(functools.partial(plain, ValueError), -1):
        try:
            signal.raise_signal(SIGNAL)
        except ValueError as error:
            assert is_interruption(error)
            try:
                raise KeyError from error
            except KeyError as other:
                assert is_interruption(other)


def test_other_threads_ask_too() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(is_interruption(ValueError())))
    thread.start()
    thread.join()
    assert found == [False]
