"""Checks of `assume`, written in the language of kernels, and inlined."""

# pyright: basic

from __future__ import annotations

import numpy as np


def is_increasing(values):
    wrong = 0
    for checked in range(1, len(values)):
        wrong += values[checked - 1] > values[checked]
    return wrong == 0


def is_permutation(values):
    count = len(values)
    seen = np.zeros(count, np.uint8)
    wrong = 0
    for checked in range(count):
        value = int(values[checked])
        inside = 0 <= value and value < count
        at = value if inside else 0
        wrong += 1 if not inside or seen[at] != 0 else 0
        seen[at] = 1
    return wrong == 0
