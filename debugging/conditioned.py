"""How far correctly rounded evaluations of one program may differ: its condition, found by running it with perturbed roundings.

Each op that rounds returns what it would if its rounding error, or that of its operands where the op is backward stable only,
were a few units in the last place, of a sign that a run chooses. What a result moves by over several runs bounds what another
order of its sums, a fused multiply-add or another algorithm of the same stability may change. Where terms cancel, results move
as far as the terms' roundings do; where nothing cancels, hardly. (Stochastic arithmetic after Vignes, 1978, and the backward
error model of Higham, Accuracy and Stability of Numerical Algorithms, chapter 3.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Operation

from ..dialects.facts import Rounding
from ..dialects.graph.base import GraphOp
from ..dialects.scalar_facts import facts_of
from ..runtime.interpreter import Interpreter, accesses, monoids

STEP = 8.0
"""The perturbation of an op, in units of the last place."""

RUNS = 6
"""Perturbed runs that a bound is made of; `refined` adds as many."""


class Perturbed(Interpreter):
    """An interpreter whose roundings are off by `STEP` units in the last place, in the direction that `sign` says.

    Args:
        sign: 1 or -1 for all roundings; 0 for a random sign a rounding.
    """

    def __init__(self, module: Any, limit: int | None, perform: Any, sign: int, rng: np.random.Generator):
        super().__init__(module, limit, perform)
        self._sign, self._rng = sign, rng

    def _off(self, array: Any, by: Any) -> Any:
        """An array with `STEP` roundings of numbers as large as `by` added."""
        dtype = np.asarray(array).dtype
        if not rounds(dtype):
            return array
        signs: Any = self._sign or self._rng.choice((-1.0, 1.0), np.shape(array))
        wide = np.asarray(array, np.complex128 if dtype.kind == "c" else np.float64)
        scale = np.where(np.isfinite(by), np.abs(by), 0.0)
        return np.asarray(wide + STEP * epsilon(dtype) * signs * scale).astype(dtype)[()]

    def _ordered(self, array: Any, *operands: Any) -> Any:
        """A sum: where it overflows and its terms do not, another order may not, so it is NaN in the runs of random signs."""
        if self._sign or not rounds(np.asarray(array).dtype) or np.all(np.isfinite(array)):
            return array
        if not all(np.all(np.isfinite(x)) for x in operands if rounds(np.asarray(x).dtype)):
            return array
        return np.where(np.isfinite(array), array, np.asarray(np.nan, np.asarray(array).dtype))[()]

    def _own(self, array: Any) -> Any:
        return self._off(array, _magnitude(array))

    def evaluate(
        self, op: GraphOp, arrays: Sequence[np.ndarray], meaning: Callable[..., Sequence[np.ndarray]]
    ) -> Sequence[np.ndarray]:
        """The results of a graph op with perturbed roundings."""
        rounding = op.rounding
        if rounding is Rounding.NONE:
            return meaning(*arrays)
        if rounding is Rounding.TERMS:
            scale = sum(_magnitude(x) for x in arrays)
            return tuple(np.asarray(self._ordered(self._off(y, scale), *arrays)) for y in meaning(*arrays))
        given, sums = arrays, rounding is not Rounding.RESULT
        if rounding is Rounding.NORM:
            arrays = [np.asarray(self._off(x, np.max(_magnitude(x), initial=0.0))) for x in arrays]
        elif sums:
            arrays = [np.asarray(self._off(x, _magnitude(x) * _growth(x))) for x in arrays]
        results = [self._own(y) for y in meaning(*arrays)]
        return tuple(np.asarray(self._ordered(y, *given) if sums else y) for y in results)

    def meaning(self, op: Operation, meaning: Callable[..., Any]) -> Callable[..., Any]:
        """A scalar op with perturbed roundings."""
        rounding = facts_of(op).rounding
        if rounding is Rounding.NONE or not any(_floats(value.type) for value in op.results):
            return meaning
        if rounding is Rounding.TERMS and len(op.operands) == 2:
            return lambda op, x, y: self._ordered(self._off(meaning(op, x, y), _magnitude(x) + _magnitude(y)), x, y)
        if rounding is Rounding.TERMS:  # a fused multiply-add
            return lambda op, x, y, z: self._off(meaning(op, x, y, z), _magnitude(x) * _magnitude(y) + _magnitude(z))
        if op.name == "vector.reduction":
            return lambda op, x, *acc: self._off(meaning(op, x, *acc), sum(np.sum(_magnitude(v)) for v in (x, *acc)))
        return lambda op, *operands: self._own(meaning(op, *operands))

    def combiner(self, monoid: str) -> Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]]:
        """A step of a reduction, its new term perturbed."""
        combine = accesses.combiner(monoid)
        if monoid not in ("add", "mul"):
            return combine

        def perturbed(acc: tuple[Any, ...], x: tuple[Any, ...]) -> tuple[Any, ...]:
            results = combine(acc, tuple(map(self._own, x)))
            return tuple(self._ordered(y, a, b) for y, a, b in zip(results, acc, x, strict=True))

        return perturbed

    def combine_lanes(self, monoid: str, vectors: tuple[Any, ...]) -> tuple[Any, ...]:
        """Lanes by a monoid, all perturbed."""
        off = tuple(map(self._own, vectors)) if monoid in ("add", "mul") else vectors
        return monoids.reduce_lanes(monoid, off)


def rounds(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of floats or complex numbers; NumPy itself knows the small floats as bytes."""
    return dtype.kind in "fc" or dtype.name.startswith(("float", "bfloat"))


def epsilon(dtype: np.dtype[Any]) -> float:
    """The distance from 1 to the next number of a float or complex dtype."""
    return float(ml_dtypes.finfo(f"f{dtype.itemsize // 2}" if dtype.kind == "c" else dtype).eps)


def _magnitude(array: Any) -> Any:
    wide = np.asarray(array)
    return np.abs(wide.astype(np.complex128 if wide.dtype.kind == "c" else np.float64))


def _growth(array: np.ndarray) -> float:
    """How many roundings of a sum over the elements add up to, in the mean."""
    return max(1.0, np.sqrt(array.size) / 8)


def _floats(type: Any) -> bool:
    return any(word in str(type) for word in ("f16", "f32", "f64", "bf16", "f8", "complex"))


@dataclass
class Condition:
    """How far each result of one run may move: `base`, and the most that perturbed runs differ from it, element by element."""

    base: tuple[np.ndarray, ...]
    spread: list[np.ndarray]

    def allowed(self, k: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
        """The error that result `k` may have; None if it is no longer the result of that number."""
        if k >= len(self.base) or self.base[k].shape != shape or self.base[k].dtype != dtype:
            return None
        return self.spread[k]


Runner = Callable[[int, np.random.Generator], Sequence[np.ndarray] | None]
"""Runs the program perturbed, with the sign and the generator of `Perturbed`; None if that run takes another way and fails."""


def measured(base: Sequence[np.ndarray], run: Runner, seed: int, runs: int = RUNS) -> Condition:
    """The condition of a program on an input, from perturbed runs."""
    found = Condition(tuple(base), [np.zeros(np.shape(x)) for x in base])
    for k in range(runs):
        sign = (1, -1)[k] if k < 2 else 0
        perturbed = run(sign, np.random.default_rng((seed, k)))
        for j, a in enumerate(base):
            if perturbed is None or j >= len(perturbed) or perturbed[j].shape != a.shape:
                found.spread[j][...] = np.inf  # a size or the number of effects depends on a rounding
                continue
            found.spread[j] = np.fmax(found.spread[j], _distance(a, perturbed[j]))
    return found


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How far elements are from each other; infinite where one is an infinity or NaN and the other is not the same."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    with np.errstate(all="ignore"):
        gap = np.abs(x - y)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.where(same, 0.0, np.where(np.isfinite(gap), gap, np.inf))


__all__ = ["Condition", "Perturbed", "epsilon", "measured", "rounds"]
