"""Symbolic sizes: arithmetic and comparisons against numbers, normal forms, text."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.dialects.sizes.polynomial import Size, ceil_quotient, floor_quotient, greatest, least, positive
from lamina.dialects.sizes.text import read, spell
from lamina.errors import SizeError

N, M, K = Size.symbol("n"), Size.symbol("m", 1, 40), Size.symbol("k", 8, 64, 8)


def drawn(rng: random.Random, depth: int) -> tuple[Any, Any]:
    """A size, and how it is computed of the values of `n`, `m` and `k`."""
    if depth == 0:
        name = rng.choice("nmk")
        number = rng.randint(0, 5)
        return rng.choice(
            [({"n": N, "m": M, "k": K}[name], lambda v: v[name]), (number, lambda v: number)],
        )
    (a, of_a), (b, of_b) = drawn(rng, depth - 1), drawn(rng, depth - 1)
    by = rng.randint(1, 9)
    return rng.choice(
        [
            (a + b, lambda v: of_a(v) + of_b(v)),
            (a - b, lambda v: of_a(v) - of_b(v)),
            (a * b, lambda v: of_a(v) * of_b(v)),
            (a // by, lambda v: of_a(v) // by),
            (a % by, lambda v: of_a(v) % by),
            (ceil_quotient(a, by), lambda v: -(-of_a(v) // by)),
            (positive(a), lambda v: max(of_a(v), 0)),
            (greatest(a, b), lambda v: max(of_a(v), of_b(v))),
            (least(a, b), lambda v: min(of_a(v), of_b(v))),
        ]
    )


def values(rng: random.Random) -> dict[str, int]:
    return {"n": rng.randint(0, 30), "m": rng.randint(1, 40), "k": 8 * rng.randint(1, 8)}


@pytest.mark.thorough
@given(seed=st.integers(0, 1 << 32))
@settings(deadline=None, max_examples=400)
def test_arithmetic_bounds_and_text(seed: int) -> None:
    rng = random.Random(seed)
    size, number = drawn(rng, 3)
    assert read(spell(size)) == size
    for _ in range(5):
        known = values(rng)
        expected = number(known)
        assert (size.at(known) if isinstance(size, Size) else size) == expected
        if isinstance(size, Size):
            low, high = size.bounds
            assert low <= expected <= high


@given(seed=st.integers(0, 1 << 32))
@settings(deadline=None, max_examples=200)
def test_comparisons_that_are_decided_are_right(seed: int) -> None:
    rng = random.Random(seed)
    (a, of_a), (b, of_b) = drawn(rng, 2), drawn(rng, 2)
    known = values(rng)
    for compare in (lambda x, y: x < y, lambda x, y: x <= y, lambda x, y: x > y, lambda x, y: x >= y):
        try:
            decided = compare(a, b)
        except SizeError:
            continue
        assert decided == compare(of_a(known), of_b(known))
    if a == b:
        assert of_a(known) == of_b(known)


def test_normal_forms() -> None:
    assert (N + 1) * 2 - N - 2 == N and isinstance(N - N, int)
    assert (N * M * 6) // (2 * M) == 3 * N and ((N + 1) * (N - 1)) // (N - 1) == N + 1
    assert K // 8 * 8 == K and (K // 8) * 4 * 2 == K and (8 * N + 3) // 4 == 2 * N
    assert N - least(1, N) == greatest(N - 1, 0) and positive(M - 1) == M - 1
    assert hash(N + M) == hash(M + N) and N * M == M * N and N != M


def test_what_is_not_known_says_what_to_write() -> None:
    with pytest.raises(
        SizeError, match=r"whether n < 5 is not known while tracing: say more of 'n', as with lm.dim\('n', min=1"
    ):
        assert N < 5
    with pytest.raises(SizeError, match="size n is not known while tracing and cannot be a Python int"):
        int(N)
    with pytest.raises(SizeError, match="size n is not known to be a multiple of m"):
        N // M
    assert M < 41 and M >= 1 and N >= 0 and not K < 8


@pytest.mark.parametrize("text", ["n / 2", "n **", "f(n)", "n where n in x..3", "max(n, 1)", "1.5"])
def test_texts_that_are_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="a size must be made of integers and symbols"):
        read(text)


def test_bounds_and_quotients_of_polynomials() -> None:
    """Bounds hold, and so do quotients by sizes, at all values of small symbols, for polynomials drawn at random."""
    draw = random.Random(2)
    quotients = 0
    for _ in range(600):
        by = draw.choice([1, 1, 2, 3])
        low = -(-draw.randint(0, 3) // by) * by
        high = draw.choice([None, low + by * draw.randint(1, 6)])
        n, m = Size.symbol("n", low, high, by), Size.symbol("m", 0, 9)

        def polynomial(n: Any = n, m: Any = m) -> Any:
            a, b, c = (draw.randint(-k, k) for k in (2, 3, 6))
            return a * n * n + b * n + c + draw.choice([0, m, -m]) + draw.choice([0, 0, n**3, -(n**3)])

        size = polynomial() + draw.choice([0, 1, -2]) * positive(polynomial())
        divisor = draw.randint(1, 3) * n + draw.randint(-1, 3) + draw.choice([0, m])
        quotient = floor_quotient(size, divisor)
        quotients += quotient is not None
        for a in range(low, (low + 30 if high is None else high) + 1, by):
            for b in (0, 3, 9):
                values = {"n": a, "m": b}
                at, over, found = (x.at(values) if isinstance(x, Size) else x for x in (size, divisor, quotient))
                lowest, highest = size.bounds if isinstance(size, Size) else (size, size)
                assert lowest <= at <= highest
                assert found is None or over < 1 or found == at // over
    assert quotients > 20
