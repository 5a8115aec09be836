"""A sample of the corpus: no regression from the checked-in list. `make conformance` runs all of it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from compare import difference
from programs import corpus
from run import judge_all, read_passes, regressions

SAMPLE = (
    *("elementwise/mod_one", "elementwise/sinh", "elementwise/hypot_axis", "reductions/var", "indexing/at_add_traced"),
    *("contractions/einsum_batch", "control/scan_rows", "transformations/second_of_softplus", "nn/gelu_exact", "programs/mlp"),
)


def test_the_corpus_is_large_and_the_list_is_of_it() -> None:
    names = {key.split()[0] for key in read_passes()}
    assert len(corpus()) >= 500 and names <= set(corpus())


@pytest.mark.thorough
def test_sample(tmp_path: Path) -> None:
    if find_spec("jax") is None:
        pytest.skip("jax is not installed (extra lamina[oracles])")
    found, listed = judge_all(SAMPLE, 1, tmp_path), read_passes()
    assert set(found) <= set(listed)
    assert not regressions(found, listed)


def test_a_wrong_number_is_a_regression() -> None:
    import numpy as np

    one = np.ones(3, np.float32)
    assert not difference([one], [one.astype(np.float64)], [one.dtype], 1.0)
    assert "at [1] is" in difference([one + np.float32([0, 1e-3, 0])], [one], [one.dtype], 1.0)
    assert "is float64" in difference([one.astype(np.float64)], [one], [one.dtype], 1.0)
    assert difference([np.zeros(1, np.float32)], [np.full(1, -5.9e-9)], [one.dtype], 1.0)
