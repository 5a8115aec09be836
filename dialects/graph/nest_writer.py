"""What an op's `nest` writes its loops with. `lowering.nest_builder.NestBuilder` is the class; dialects import no lowering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from ..scalar import ScalarBuilder

Bound = AffineExpr | int | Sequence[AffineExpr | int]
"""The end of a loop: several are its minimum, or the maximum of lower bounds."""


class OpenLoop(Protocol):
    """An open loop: its index for points, its carried values, and after its end its results."""

    index: AffineExpr
    carried: Sequence[SSAValue]
    results: Sequence[SSAValue]

    def give(self, *values: SSAValue) -> None: ...


class NestWriter(Protocol):
    """Writes loops, and the reads and writes of elements in them; the methods are documented in the class."""

    op: Any
    results: Sequence[SSAValue]

    @property
    def target(self) -> Any: ...
    @property
    def scalar(self) -> ScalarBuilder: ...
    def loop(
        self,
        size: Bound,
        kind: str = "parallel",
        *,
        lower: Bound = 0,
        step: int = 1,
        monoid: str | None = None,
        inits: Sequence[SSAValue] = (),
    ) -> AbstractContextManager[OpenLoop]: ...
    def when(self, condition: SSAValue) -> AbstractContextManager[None]: ...
    def either(
        self, condition: SSAValue | None, then: Callable[[], Sequence[SSAValue]], otherwise: Sequence[SSAValue]
    ) -> Sequence[SSAValue]: ...
    def kernel(self) -> None: ...
    def index_of(self, position: SSAValue) -> AffineExpr: ...
    def position(self, expr: AffineExpr | int) -> SSAValue: ...
    def read(self, operand: int, point: Sequence[AffineExpr | int]) -> SSAValue: ...
    def write(self, value: SSAValue, point: Sequence[AffineExpr | int], result: int = 0) -> None: ...
    def local(self, shape: Sequence[int], element: Attribute, space: str = "stack", name: str | None = None) -> SSAValue: ...
    def load(self, buffer: SSAValue, point: Sequence[AffineExpr | int]) -> SSAValue: ...
    def store(self, value: SSAValue, buffer: SSAValue, point: Sequence[AffineExpr | int]) -> None: ...
