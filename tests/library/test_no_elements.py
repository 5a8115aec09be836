"""Public functions of arrays without elements, against NumPy and SciPy: values, shapes, dtypes, or that both refuse."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import ShapeError, TracingError

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
    function, wants = REDUCED[name], list[Any]()
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
        wants.append((x, wanted))
    found = lm.jit(lambda *every: [function(lnp, x) for x in every])(*[x for x, _ in wants])
    _same(found, [wanted for _, wanted in wants], (name, "jit"))


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


def _compared() -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    for name in dir(lnp):
        theirs = getattr(np, name, None)
        if name.startswith("_") or not callable(theirs) or isinstance(theirs, type) or name in LEFT_OUT or name in DIFFERENT:
            continue
        yield name, getattr(lnp, name), theirs


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8))
def test_every_function_of_nothing(part: int) -> None:
    count, wrong = 0, list[str]()
    for name, ours, theirs in list(_compared())[part::8]:
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
    assert count > 320
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("transform", [lm.jit, lm.compile])
@pytest.mark.parametrize("part", range(8))
def test_every_compiled_function_of_nothing(transform: Callable[..., Any], part: int) -> None:
    """The values of the calls above, or a word on what is not known while tracing."""
    count, wrong = 0, list[str]()
    for name, ours, theirs in list(_compared())[part::8]:
        if name == "result_type":
            continue
        for args, options in _calls():
            try:
                wanted = theirs(*args, **options)
            except Exception:
                continue  # what NumPy refuses may have a meaning here
            try:
                _same(transform(lambda *xs, f=ours, options=options: f(*xs, **options))(*args), wanted, name)
                count += 1
            except (TracingError, ShapeError) as error:
                if not any(reason in str(error) for reason in ("depends on", "values of", "in place", "out= of")):
                    wrong.append(f"{name} {[x.shape for x in args]}, {options}: {error}")
            except Exception as error:
                wrong.append(f"{name} {[x.shape for x in args]}, {options}: {type(error).__name__}: {error}")
    assert count > 200
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_batches_and_derivatives_of_nothing(part: int) -> None:
    """A batch of no elements has the types of one of two, and a gradient by no elements none."""
    count = 0
    for name, function, _ in list(_compared())[part::4]:
        for shape, options in (((3,), {}), ((3, 3), {}), ((2, 3), {"axis": 0}), ((3,), {"axis": -1})):
            x = np.linspace(0.1, 0.9, 2 * math.prod(shape)).reshape(2, *shape)
            batched = lm.vmap(lambda x, f=function, options=options: f(x, **options))
            try:
                two = lm.tree.leaves(batched(x))
            except Exception:
                continue  # it does not take such arguments
            for one, nothing in zip(two, lm.tree.leaves(batched(x[:0])), strict=True):
                assert (nothing.shape, nothing.dtype) == ((0, *one.shape[1:]), one.dtype), name
            if all(y.dtype.kind in "fc" for y in two):
                gradient = lm.jit(lm.grad(lambda x, f=batched: sum(lnp.abs(y).sum() for y in lm.tree.leaves(f(x)))))(x[:0])
                assert gradient.shape == (0, *shape) and gradient.dtype == x.dtype, name
            count += 1
    assert count > 100
