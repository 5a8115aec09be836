"""The facts that passes read of an op beside its type rule and its loops: one frozen record, declared in the op's class.

A pass asks `op.facts`, so no list of op names stands in a pass, and an op that is added is known to all of them. The
defaults are safe for an op that declares nothing: it is expensive, it rounds, and it has no property that a rewrite could use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any, Literal

from xdsl.ir import Attribute, SSAValue
from xdsl.traits import OpTrait

from .types import COMPLEX


class OwnDerivative(OpTrait):
    """The op's derivative is what its user declares, or none by wish: differences of its values do not give it."""


Parts = tuple[SSAValue, SSAValue]
"""The real and the imaginary part of a complex value."""


class Cost(IntEnum):
    """The cost of computing an element of a result again, in ascending order."""

    INDEX = 0
    """Index arithmetic alone: the element is an operand's, or a constant."""
    LOAD = 1
    """About as much as a load of the element: a sum, a comparison, a select."""
    SHORT = 2
    """An instruction or two that are slower than a load: a quotient, a square root."""
    LONG = 3
    """A polynomial, a sum, or loops."""


class Rounding(Enum):
    """The kind of rounding error of an op, which bounds how far a pass may change its results."""

    NONE = "none"
    """Nothing is rounded: each float of a result is an operand's, its negation, or an integer that the type holds."""
    RESULT = "result"
    """Relative to each element of the result."""
    TERMS = "terms"
    """Relative to the sum of the magnitudes of the operands: what cancels loses digits."""
    OPERANDS = "operands"
    """As if each element of the operands were rounded first: sums in any order."""
    NORM = "norm"
    """As if the operands were rounded relative to their largest elements: Winograd, Fourier, factorizations."""


@dataclass(frozen=True)
class OpFacts:
    """What passes know of the ops of one class.

    Attributes:
        cost: of computing one element of a result again.
        rounding: the error of the op; `GraphOp.rounding` says it of one op, where it depends on a property.
        stores: element types that the op takes beside those that are computed with.
        on_parts: what the op is on complex numbers, given as real and imaginary parts: "each" does to both parts what it does
            to the whole; a function takes a graph builder and the parts of each operand. None: `graph-split-complex` has a rule
            of its own, or refuses the op.
        view: whether the result is the operand's buffer under another type, so that no kernel runs.
        numpy_view: whether NumPy's function of this meaning gives a view of the operand, not a new array.
        overwrites: the operand whose contents are copied to the result's buffer, which the op's nest then updates in place.
        writes_once: whether the op's nest writes each element of its one result once, with `b.write`, and reads none:
            elementwise ops that follow are then computed where it writes.
        covers_operands: whether the loops of its equation run over all of every dim that they read: sizes follow from its maps.
        pointwise: whether each element of the result depends on at most one element of each operand, with no movement between
            dims: elementwise ops, and the broadcasts and constants among them.
        stores_together: whether the several equations of the op are stored in one nest; `GraphOp.stores_together` is of
            one op.
        declares_sizes: whether sizes of the result stand in its type alone, where no operand has them: two ops that read alike
            may differ in what is `?`.
        fuses_copies: whether what only moves elements is computed where the op's nest copies its operands, not before.
        uniform_steps: whether the op's loops over one matrix of a stack are the same for all of them, whatever their elements.
        slow_to_compile: whether its code takes so long to compile that NumPy computes small ones outside of `jit`.
        keeps_integers: whether NumPy's function, which is of floats here, gives integers back unchanged, as `floor` does.
        symbol: Python's operator of the op, `+`.
        kernels: the module that registers the kernels whose loops are the op's (`register_kernel(..., inline=True)`). It is
            imported when such an op is lowered; a name that begins with a dot is one of this package.
        problem_rank: the number of dims of one problem, if leading dims are a stack of them for such a kernel.
    """

    cost: Cost = Cost.LONG
    rounding: Rounding = Rounding.OPERANDS
    stores: tuple[Attribute, ...] = ()
    on_parts: Literal["each"] | Callable[..., Parts] | None = None
    view: bool = False
    numpy_view: bool = False
    overwrites: int | None = None
    writes_once: bool = False
    covers_operands: bool = False
    pointwise: bool = False
    stores_together: bool = False
    declares_sizes: bool = False
    fuses_copies: bool = False
    uniform_steps: bool = False
    slow_to_compile: bool = False
    keeps_integers: bool = False
    symbol: str = ""
    kernels: str | None = None
    problem_rank: int | None = None

    def but(self, **changes: Any) -> OpFacts:
        """The same facts with changes, for a class that differs from its family."""
        return replace(self, **changes)


def elementwise(cost: Cost, rounding: Rounding = Rounding.RESULT, **more: Any) -> OpFacts:
    """The facts of an elementwise op; complex numbers are stored where it says what it is on their parts."""
    if more.get("on_parts") is not None:
        more.setdefault("stores", COMPLEX)
    return OpFacts(cost=cost, rounding=rounding, covers_operands=True, pointwise=True, **more)


def rounding_by(kind: str) -> Rounding:
    """The rounding of an op that combines elements by a monoid or sets them: some kinds only select an operand."""
    return Rounding.NONE if kind in ("max", "min", "and", "or", "set") else Rounding.OPERANDS


FACTORIZATION = OpFacts(rounding=Rounding.NORM, stores=COMPLEX, slow_to_compile=True, problem_rank=2)
"""The facts of factorizations of matrices and of the ops built from them."""
