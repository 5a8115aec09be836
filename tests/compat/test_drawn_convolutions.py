"""`lax.conv_general_dilated` at random options, all at once, against a plain NumPy form."""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from drawn import Array, Draw, check, fits, spread


def _plain(x: Array, w: Array, options: dict[str, Any]) -> Array:
    """The sum over taps and features, one element of the result after the other."""
    of_x, of_w, of_y = options["dimension_numbers"]
    spatial = "".join(c for c in of_w if c not in "OI")  # options go along with the dims of the filters
    x = x.transpose([of_x.index(c) for c in "NC" + spatial])
    w = w.transpose([of_w.index(c) for c in "OI" + spatial])
    n = len(spatial)
    x = spread(x, 0, [1, 1, *options["lhs_dilation"]], [(0, 0), (0, 0), *options["padding"]])
    groups, batches = options["feature_group_count"], options["batch_group_count"]
    strides, apart = options["window_strides"], options["rhs_dilation"]
    rows = zip(x.shape[2:], w.shape[2:], strides, apart, strict=True)
    points = [max((size - (taps - 1) * by - 1) // step + 1, 0) for size, taps, step, by in rows]
    rows_of_batch, features, inner = x.shape[0] // batches, w.shape[0], w.shape[1]
    y = np.zeros((rows_of_batch, features, *points), np.result_type(x, w))
    for o, at in product(range(features), np.ndindex(*points)):
        group, batch = o // (features // groups), o // (features // batches)
        chosen = x[batch * rows_of_batch :][:rows_of_batch, group * inner :][:, :inner]
        for tap in np.ndindex(*w.shape[2:]):
            place = tuple(p * s + k * d for p, s, k, d in zip(at, strides, tap, apart, strict=True))
            y[(slice(None), o, *at)] += chosen[(slice(None), slice(None), *place)] @ w[(o, slice(None), *tap)]
    return y.transpose([("NC" + spatial).index(c) for c in of_y]) if n else y


def _drawn(d: Draw) -> tuple[list[int], list[int], dict[str, Any]]:
    """Shapes of image and filters, and the options."""
    n = d.one(1, 1, 2)
    groups, batches = d.one((1, 1), (2, 1), (3, 1), (1, 2))
    sizes, window = d.some(1, 5, n), d.some(1, 3, n)
    options: dict[str, Any] = {
        "window_strides": d.some(1, 3, n),
        "padding": d.pairs(-2, 3, n),
        "lhs_dilation": d.some(1, 3, n),
        "rhs_dilation": d.some(1, 2, n),
        "feature_group_count": groups,
        "batch_group_count": batches,
    }
    inner = d.one(1, 2)
    whole = {"N": batches * d.one(1, 2), "C": groups * inner, **dict(zip("HW", sizes, strict=False))}
    filters = {"O": groups * batches * d.one(1, 2), "I": inner, **dict(zip("HW", window, strict=False))}
    letters = ["".join(np.array(list(names))[d.order(n + 2)]) for names in ("NCHW"[: n + 2], "OIHW"[: n + 2], "NCHW"[: n + 2])]
    if d.one(True, False):
        letters = ["NCHW"[: n + 2], "OIHW"[: n + 2], "NCHW"[: n + 2]]
    options["dimension_numbers"] = tuple(letters)
    sizes = [whole[c] for c in letters[1] if c not in "OI"]
    if not fits(sizes, options["lhs_dilation"], options["padding"]):
        options["padding"] = d.pairs(0, 3, n)
    return [whole[c] for c in letters[0]], [filters[c] for c in letters[1]], options


def _check(seed: int) -> None:
    d = Draw(seed)
    of_x, of_w, options = _drawn(d)
    drawn = f"seed {seed}: {of_x} by {of_w}, {options}"
    x, w = d.array(of_x), d.array(of_w)
    plain = partial(_plain, options=options)
    check(
        lambda x, w: lm.lax.conv_general_dilated(x, w, **options),
        plain,
        [x, w],
        drawn,
        lambda dx, dw: plain(dx, w) + plain(x, dw),
    )
    if seed % 4 == 0:
        half, quarter = x.astype(np.float32), w.astype(np.float32)
        found = lm.lax.conv_general_dilated(half, quarter, **options, preferred_element_type=np.float64)
        assert found.dtype == np.float64, drawn
        np.testing.assert_allclose(found, plain(x, w), rtol=1e-5, atol=1e-4, err_msg=drawn)


@pytest.mark.parametrize("seed", range(6))
def test_convolutions_at_drawn_options(seed: int):
    _check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_convolutions_at_many_drawn_options(block: int):
    for seed in range(100 + 100 * block, 200 + 100 * block):
        _check(seed)
