"""Where a NaN comes from: the graph is run again, op by op, until one makes a NaN of operands that have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from .. import pipeline
from ..diagnostics import FilePosition, position_of_op
from ..dialects.context import make_context
from ..dialects.graph.base import GraphOp
from ..runtime.interpreter import Interpreter, interpret
from .comparison import brief
from .conditioned import rounds
from .differences import has_transforms


class NanError(FloatingPointError):
    """A compiled function gave a NaN, under `lm.debug_nans()`; the message says which op made it first, where, and from which
    operands."""


@dataclass
class Origin:
    """The first op that makes a NaN.

    Attributes:
        op: its name, as `graph.log`.
        place: the source location; None if the op has none.
        operands: of that op.
        at: the subscripts of the first NaN in its result.
    """

    op: str
    place: FilePosition | None
    operands: list[np.ndarray]
    at: tuple[int, ...]

    def __str__(self) -> str:
        where = "" if self.place is None else f" at {self.place.file}:{self.place.line}"
        shown = "; ".join(f"operand {k}: {_near(x, self.at)}" for k, x in enumerate(self.operands))
        return f"the first NaN is made by '{self.op}'{where}, element {list(self.at)} ({shown})"


def has_nan(x: Any) -> bool:
    """Whether an array of floats or complex numbers has a NaN."""
    array = np.asarray(x)
    return rounds(array.dtype) and bool(np.isnan(array).any())


class _Watching(Interpreter):
    """Stops at the first op that makes a NaN."""

    origin: Origin | None = None

    def evaluate(
        self, op: GraphOp, arrays: Sequence[np.ndarray], meaning: Callable[..., Sequence[np.ndarray]]
    ) -> Sequence[np.ndarray]:
        """The results of an op, looked at."""
        results = meaning(*arrays)
        if self.origin is None and op.name != "graph.const" and not any(map(has_nan, arrays)):
            for result in results:
                if has_nan(result):
                    at = tuple(int(i) for i in np.argwhere(np.isnan(result))[0])
                    self.origin = Origin(op.name, position_of_op(op), [np.array(x) for x in arrays], at)
        return results


def find_nan(module: ModuleOp, args: Sequence[np.ndarray], entry: str = "main") -> Origin | None:
    """The op of a graph that makes the first NaN on these arguments; None if none does.

    Args:
        module: as it was traced; derivatives and maps in it are expanded first, nothing else is changed.
        args: of the entry.
    """
    module = module.clone()
    ctx = make_context()
    for step in pipeline.steps_to(module, "optimized"):
        if not has_transforms(module):
            break
        step.make().apply(ctx, module)
    made: list[_Watching] = []

    def make(*given: Any) -> Interpreter:
        made.append(_Watching(*given))
        return made[-1]

    interpret(module, entry, args, None, lambda *_, **__: None, make)
    return made[-1].origin


def _near(x: np.ndarray, at: tuple[int, ...]) -> str:
    """An operand, or its element that a NaN comes from where shapes agree."""
    if x.ndim == len(at) and all(i < n for i, n in zip(at, x.shape, strict=True)):
        return f"{x[at]} of {x.dtype}{list(x.shape)}"
    return f"{x.dtype}{list(x.shape)} {brief(x)}"


__all__ = ["NanError", "Origin", "find_nan", "has_nan"]
