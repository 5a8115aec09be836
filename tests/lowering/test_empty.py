"""Arrays without elements: kernels with loops that never run are compiled as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

CASES: list[tuple[Callable[..., Any], tuple[tuple[int, ...], ...], tuple[int, ...]]] = [
    (lambda a, b: a @ b, ((0, 4, 9), (0, 9, 33)), (0, 4, 33)),
    (lambda a, b: (a @ b).sum(axis=-1), ((0, 31), (31, 49)), (0,)),
    (lambda a, b: a @ b + 1, ((20, 0), (0, 33)), (20, 33)),
    (lambda a, b: a.T @ b, ((0, 100), (0, 100)), (100, 100)),
    (lambda a: lm.nn.log_softmax(a, axis=-1), ((0, 100, 2),), (0, 100, 2)),
    (lambda a: lm.grad(lambda x: x.max(axis=0).sum())(a), ((33, 0, 100),), (33, 0, 100)),
    (lambda a: (a[..., None] * a[:, None]).sum(axis=-1), ((0, 100),), (0, 100)),
    (lambda a: a.sum(axis=0), ((0, 100),), (100,)),
    (lambda a: lnp.concatenate([a, a * 2], axis=0).T * 3, ((0, 100),), (100, 0)),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_programs_on_arrays_without_elements(case: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMINA_CACHE", "0")
    function, shapes, expected = CASES[case]
    result = np.asarray(lm.jit(function)(*(np.ones(shape, np.float32) for shape in shapes)))
    assert result.shape == expected
    assert (result == (1 if case == 2 else 0)).all()
