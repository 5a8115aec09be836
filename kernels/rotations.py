"""Rotations of neighbouring rows of a matrix, in the language of kernels: those of several steps after one another.

A step rotates rows `high - 1` and `high`, then those before, down to `low`: a row that is rotated twice stays in registers, and
blocks of columns, which the first-level cache holds, are independent.
"""

from __future__ import annotations

from ..api.kernels import parallel

STEPS = 32
"""Steps whose rotations are applied together."""
COLUMNS = 32
"""Columns of a block: one of 256 rows of f32 fits the first-level cache."""


def gather_columns(blocks, rows, n):
    """Copy the columns of `n` rows to blocks of columns."""
    for part in parallel(blocks.shape[0]):
        for i in parallel(n):
            for j in parallel(COLUMNS):
                blocks[part, i, j] = 0
            for j in parallel(min(COLUMNS, n - part * COLUMNS)):
                blocks[part, i, j] = rows[i, part * COLUMNS + j]


def scatter_columns(rows, blocks, n):
    """Copy blocks of columns back to the rows of a matrix."""
    for part in parallel(blocks.shape[0]):
        for i in parallel(n):
            for j in parallel(min(COLUMNS, n - part * COLUMNS)):
                rows[i, part * COLUMNS + j] = blocks[part, i, j]


def rotate(blocks, cosines, sines, lows, highs):
    """Apply the rotations of all steps: rows `i` and `i + 1` become `c x - s y` and `s x + c y`."""
    for part in parallel(blocks.shape[0]):
        for step in range(STEPS):
            low, high = int(lows[step]), int(highs[step])
            for j in parallel(COLUMNS):
                y = blocks[part, high, j]
                for k in range(high - low):
                    i = high - 1 - k
                    x = blocks[part, i, j]
                    blocks[part, i + 1, j] = sines[step, i] * x + cosines[step, i] * y
                    y = cosines[step, i] * x - sines[step, i] * y
                blocks[part, low, j] = y
