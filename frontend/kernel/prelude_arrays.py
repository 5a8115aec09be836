"""Reductions of arrays of 1, 2 and 3 dims, written in the language of kernels, and inlined."""

# pyright: basic

from __future__ import annotations


def added1(values, start):
    for value in values:
        start += value
    return start


def added2(values, start):
    for row in values:
        for value in row:
            start += value
    return start


def added3(values, start):
    for matrix in values:
        for row in matrix:
            for value in row:
                start += value
    return start


def multiplied1(values, start):
    for value in values:
        start *= value
    return start


def multiplied2(values, start):
    for row in values:
        for value in row:
            start *= value
    return start


def multiplied3(values, start):
    for matrix in values:
        for row in matrix:
            for value in row:
                start *= value
    return start


def greatest1(values, start):
    for value in values:
        start = max(start, value)
    return start


def greatest2(values, start):
    for row in values:
        for value in row:
            start = max(start, value)
    return start


def greatest3(values, start):
    for matrix in values:
        for row in matrix:
            for value in row:
                start = max(start, value)
    return start


def least1(values, start):
    for value in values:
        start = min(start, value)
    return start


def least2(values, start):
    for row in values:
        for value in row:
            start = min(start, value)
    return start


def least3(values, start):
    for matrix in values:
        for row in matrix:
            for value in row:
                start = min(start, value)
    return start


def products(p, q, start):
    for a, b in zip(p, q):  # noqa: B905
        start += a * b
    return start


REDUCTIONS = {
    "add": (added1, added2, added3),
    "mul": (multiplied1, multiplied2, multiplied3),
    "max": (greatest1, greatest2, greatest3),
    "min": (least1, least2, least3),
}
"""Reductions of arrays of 1, 2 and 3 dims, by their monoids."""
