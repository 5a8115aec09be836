"""Functions of complex numbers that NumPy orders by real, then by imaginary parts, NaN last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

NAN = np.nan
Z = np.array([[3 + 1j, 1 - 2j, 1 + 5j, 2, -1j], [0, 1j, -1, 3 + 1j, 1 - 2j]])
WITH_NAN = np.array([complex(NAN, 1), complex(1, NAN), 2 + 1j, complex(NAN, NAN), 2 - 1j, complex(NAN, -3), complex(0, NAN)])

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "median": lambda m, z: m.median(z, 1),
    "median of an even number": lambda m, z: m.median(z),
    "nanmedian": lambda m, z: m.nanmedian(z, 0),
    "searchsorted": lambda m, z: m.searchsorted(m.sort(z.ravel()), m.append(z.ravel(), 1 - 1j)),
    "searchsorted on the right": lambda m, z: m.searchsorted(m.sort(z.ravel()), z, side="right"),
    "lexsort": lambda m, z: m.lexsort((z[0], m.round(z[1]))),
    "partition": lambda m, z: m.partition(z, 2)[:, 2],
}


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name: str) -> None:
    for z in (Z, Z.astype(np.complex64)):
        want = np.asarray(CASES[name](np, z))
        got = CASES[name](lnp, z)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_nan_is_last() -> None:
    ordered = np.sort(WITH_NAN)
    for side in ("left", "right"):
        np.testing.assert_array_equal(lnp.searchsorted(ordered, WITH_NAN, side), np.searchsorted(ordered, WITH_NAN, side))
    long = np.sort(np.tile(WITH_NAN, 7))  # halved, not compared as a whole
    np.testing.assert_array_equal(lnp.searchsorted(long, WITH_NAN), np.searchsorted(long, WITH_NAN))
    np.testing.assert_array_equal(np.isnan(lnp.median(WITH_NAN)), True)
    np.testing.assert_array_equal(lnp.nanmedian(WITH_NAN), np.nanmedian(WITH_NAN))


def test_sinc_of_complex_numbers() -> None:
    z = np.array([0, 0.1 + 0.2j, 1e-9j, 2 - 1j, 1, -0.5 + 3j])
    np.testing.assert_allclose(lnp.sinc(z), np.sinc(z), rtol=1e-14, atol=1e-16)


def test_what_is_refused() -> None:
    for f in (lnp.quantile, lnp.percentile, lnp.nanquantile):
        with pytest.raises(lm.DTypeError, match="quantiles are of real numbers"):
            f(Z, 0.5)
    with pytest.raises(lm.DTypeError, match="histograms count real numbers"):
        lnp.histogram(Z)
