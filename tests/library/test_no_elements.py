"""Public functions of arrays without elements, against NumPy and SciPy: values, shapes, dtypes, or that both refuse."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

SHAPES = [(0,), (0, 3), (3, 0), (2, 0, 3)]

REDUCED: dict[str, Callable[..., Any]] = {
    "median": lambda np, x: np.median(x),
    "median of rows": lambda np, x: np.median(x, 0, keepdims=True),
    "nanmedian": lambda np, x: np.nanmedian(x),
    "quantile": lambda np, x: np.quantile(x, 0.5),
    "quantiles": lambda np, x: np.quantile(x, np.array([0.25, 0.5])),
    "quantile of rows": lambda np, x: np.quantile(x, 0.5, axis=0),
    "percentile": lambda np, x: np.percentile(x, 50.0),
    "nanquantile of rows": lambda np, x: np.nanquantile(x, 0.5, axis=-1),
    "cov": lambda np, x: np.cov(x),
    "cov of columns": lambda np, x: np.cov(x, rowvar=False),
    "cov with weights": lambda np, x: np.cov(x, fweights=np.ones(x.shape[-1], int)) if x.ndim < 3 else x,
    "corrcoef": lambda np, x: np.corrcoef(x),
    "mean": lambda np, x: np.mean(x),
    "var of rows": lambda np, x: np.var(x, 0),
    "average": lambda np, x: np.average(x, 0) if x.shape[0] else x,
    "polymul": lambda np, x: np.polymul(x, [2.0, 1]) if x.ndim == 1 else x,
    "polyint": lambda np, x: np.polyint(x) if x.ndim == 1 else x,
    "polyint of complex": lambda np, x: np.polyint(x * 1j) if x.ndim == 1 else x,
    "histogram": lambda np, x: np.histogram(x),
    "histogram without edges": lambda np, x: np.histogram(x, x.reshape(-1)),
    "limits": lambda np, x: np.linspace(2.0, x, 5),
    "powers": lambda np, x: np.logspace(x, 2.0, 5),
    "unwrap": lambda np, x: np.unwrap(x > 0),
    "vecdot": lambda np, x: np.vecdot(x > 0, x > 0),
}


def _same(found: Any, wanted: Any, what: Any) -> None:
    found, wanted = (x if isinstance(x, list | tuple) else [x] for x in (found, wanted))
    assert len(found) == len(wanted), what
    for a, b in zip(found, wanted, strict=True):
        if isinstance(b, list | tuple):
            _same(a, b, what)
            continue
        if not isinstance(b, np.ndarray | np.generic):  # a number of elements, a dtype
            assert a == b, what
            continue
        assert (a.shape, a.dtype) == (b.shape, b.dtype), what
        np.testing.assert_array_equal(a, b, err_msg=str(what))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REDUCED)
def test_reductions_of_nothing(name: str):
    function = REDUCED[name]
    for shape in SHAPES:
        x = np.zeros(shape)
        try:
            wanted = function(np, x)
        except ValueError:  # as cov of three dims
            with pytest.raises(ValueError):
                function(lnp, x)
            continue
        except (IndexError, ZeroDivisionError):  # what NumPy's own steps stumble over
            continue
        _same(function(lnp, x), wanted, (name, shape))
        _same(lm.jit(lambda x: function(lnp, x))(x), wanted, (name, shape, "jit"))


def test_counts_of_nothing():
    for x in (np.zeros(0, int), np.zeros(0, bool)):
        _same(lnp.bincount(x, minlength=2), np.bincount(x, minlength=2), x.dtype)
        _same(lnp.bincount(x), np.bincount(x), x.dtype)
    with pytest.raises(ValueError, match="at least 1"):
        lnp.histogram(np.zeros(3), 0)
    with pytest.raises(ValueError, match="do not fall"):
        lnp.histogram(np.zeros(3), [2, 1])


@pytest.mark.parametrize("dtype", [float, complex, bool])
def test_matrices_of_no_elements(dtype: Any):
    scipy = pytest.importorskip("scipy.linalg")
    for x in (np.zeros(0, dtype), np.ones(3, dtype)):
        for name in ("toeplitz", "hankel", "circulant"):
            _same(getattr(lm.linalg, name)(x), getattr(scipy, name)(x), (name, x))


# -- every function that NumPy has, too

LEFT_OUT = set(
    "broadcast_shapes modf frexp isneginf isposinf "
    "array2string array_repr array_str base_repr binary_repr empty empty_like frombuffer fromfile fromfunction fromiter "
    "frompyfunc fromstring load save savez iterable from_dlpack printoptions set_printoptions errstate asarray einsum_path "
    "may_share_memory shares_memory format_float_positional format_float_scientific vectorize".split()
)
"""Files, texts, what has no result of its own, and values that nobody wrote."""

DIFFERENT = {
    "argpartition": "places beyond the end are refused",
    "average": "NumPy divides the numbers of elements",
    "compress": "conditions beyond the end are refused",
    "dsplit": "lists are arrays",
    "flip": "axes are integers",
    "median": "axes are integers",
    "nanmedian": "axes are integers",
    "moveaxis": "axes are integers",
    "partition": "places beyond the end are refused",
    "nanpercentile": "as many results as quantiles",
    "nanquantile": "as many results as quantiles",
    "polymul": "leading zeros stay, as in jax",
    "polyval": "no coefficients are a polynomial of floats",
    "roll": "shifts are integers",
    "roots": "always complex, as in jax",
    "size": "axes are integers",
    "take_along_axis": "NumPy refuses floats as indices where there are none to be read",
    "extract": "NumPy refuses to take from nothing",
}


def _calls() -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    for shape in [*SHAPES, (0, 0)]:
        x = np.zeros(shape)
        yield (x,), {}
        for axis in (0, -1, 1, None):
            yield (x,), {"axis": axis}
        yield (x,), {"axis": -1, "keepdims": True}
        yield (x, x), {}
        yield (np.zeros(3), x), {}
        yield (np.zeros(shape, np.int64),), {}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_every_function_of_nothing():
    names = [n for n in dir(lnp) if not n.startswith("_") and callable(getattr(lnp, n)) and hasattr(np, n)]
    count, wrong = 0, list[str]()
    for name in names:
        ours, theirs = getattr(lnp, name), getattr(np, name)
        if name in LEFT_OUT or name in DIFFERENT or isinstance(theirs, type):
            continue
        for args, options in _calls():
            said = f"{name}({', '.join(f'{x.dtype}{list(x.shape)}' for x in args)}, {options})"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wanted = theirs(*args, **options)
                except Exception:
                    continue  # what NumPy refuses may have a meaning here
            count += 1
            try:
                _same(ours(*args, **options), wanted, said)
            except Exception as error:
                wrong.append(f"{said}: {type(error).__name__}: {str(error).splitlines()[-1]}")
    assert count > 3000
    assert not wrong, "\n".join(wrong)
