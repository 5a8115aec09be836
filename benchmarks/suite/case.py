"""Benchmark cases: a computation as NumPy, lamina and each peer write it; a row of the table is a case with its goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from .lazy import loops

SEED = 4


class Case:
    """A computation of given sizes. A subclass writes `inputs` and `numpy`, and a method for each library that can do it:

    * `numpy(*inputs)`: the reference, and a peer itself;
    * `lamina(*inputs)`: traced by `lm.jit`; or, with `as_kernel`, `kernel(*inputs)`: calls functions of `kernels.py`;
    * `jax(*inputs)`: for `jax.jit`; IREE compiles its StableHLO;
    * `torch(*inputs)`: run eagerly and by `torch.compile`;
    * `numba(*inputs)`: calls functions of `loops.py`; `numba = loop("gelu")` is one of them;
    * `onnx(graph, *names)`: adds nodes to a graph and returns the name of the result.
    """

    flops: float = 0
    """Floating-point operations, where these are the limit."""
    bytes: float = 0
    """Least bytes to read and write, where these are the limit."""
    weights: ClassVar[Sequence[int]] = ()
    """Inputs that are parameters of a network: an ONNX model holds them, so that its runtime may pack them beforehand."""
    as_kernel: bool = False
    """Whether lamina runs a function written as `@lm.kernel`."""
    as_written: bool = False
    """Whether lamina and jax run their functions op by op, as they stand, without `jit`."""
    rtol: float = 1e-5
    atol: float = 1e-5

    lamina: ClassVar[Callable[..., Any] | None] = None
    kernel: ClassVar[Callable[..., Any] | None] = None
    jax: ClassVar[Callable[..., Any] | None] = None
    torch: ClassVar[Callable[..., Any] | None] = None
    numba: ClassVar[Callable[..., Any] | None] = None
    onnx: ClassVar[Callable[..., Any] | None] = None

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        """The arguments; equal for equal generators."""
        raise NotImplementedError

    def numpy(self, *inputs: np.ndarray) -> np.ndarray:
        """The reference."""
        raise NotImplementedError

    def has(self, method: str) -> bool:
        """Whether the case is written for a library."""
        return getattr(self, "kernel" if method == "lamina" and self.as_kernel else method) is not None

    @property
    def element(self) -> str:
        """The floating-point type that the limit is about, as LLVM names it."""
        return "float"

    def make_inputs(self) -> list[np.ndarray]:
        """The inputs that all peers get."""
        return self.inputs(np.random.default_rng(SEED))

    def mismatch(self, result: np.ndarray, reference: np.ndarray) -> str | None:
        """The error of a result, or None."""
        if result.shape != reference.shape:
            return f"shape {result.shape}, expected {reference.shape}"
        # files of NumPy do not know bfloat16
        result, reference = (x.view(ml_dtypes.bfloat16) if x.dtype.kind == "V" else x for x in (result, reference))
        wide = np.complex128 if result.dtype.kind == "c" else np.float64
        error = np.abs(result.astype(wide) - reference.astype(wide))
        bad = ~(error <= self.atol + self.rtol * np.abs(reference))
        if bad.any():
            worst = np.unravel_index(np.nanargmax(np.where(bad, error, -1)), error.shape)
            return f"{bad.sum()} elements differ: {result[worst]} at {[int(k) for k in worst]}, expected {reference[worst]}"
        return None


def loop(name: str, *fields: str) -> Callable[..., Any]:
    """A method that calls the function `name` of `loops.py` on the inputs and these fields of the case."""

    def method(self: Case, *inputs: Any) -> Any:
        return getattr(loops, name)(*inputs, *(getattr(self, field) for field in fields))

    return method


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    name: str
    sizes: str
    case: Case
    small: Case
    """The same at a reduced size, for tests."""
    limit: float
    """The goal: how many times as fast as the best peer."""
    share: float | None = None
    """The goal: the share of the machine's limit."""
    memory: int | None = None
    """Most bytes that a call may need, its result included."""


def floats(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Normally distributed float32."""
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
