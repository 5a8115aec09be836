"""The facts of ops on scalars and vectors (`arith`, `math`, `scalar`, `vector`) that the compiler reads: one table.

A function of floats without a row here is a polynomial whose result is rounded; another op is one instruction. Divisions,
square roots and polynomials cost what the target says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.ir import Operation

from .facts import Rounding
from .scalar_ops import is_function


@dataclass(frozen=True)
class ScalarFacts:
    """The facts of an op on scalars.

    Attributes:
        instructions: the number of instructions on any machine, where an addition or a multiply-add is one.
        unit: the target's cost that replaces it: `Target.div`, `sqrt` or `exp`, which stands for all polynomials.
        rounding: its error.
        flops: floating-point operations of one on floats.
        is_scalarized: whether no vector unit has it.
        latency: cycles from operands to result on scalars, if not those of an addition.
    """

    instructions: float = 1.0
    unit: Literal["", "div", "sqrt", "exp"] = ""
    rounding: Rounding = Rounding.RESULT
    flops: int = 1
    is_scalarized: bool = False
    latency: float = 0.0

    @property
    def is_polynomial(self) -> bool:
        """Whether it is a polynomial, with constants that take registers."""
        return self.unit == "exp"


_INSTRUCTION = ScalarFacts()
_FUNCTION = ScalarFacts(20.0, "exp")
_EXACT = ScalarFacts(rounding=Rounding.NONE)
_LIMIT = ScalarFacts(rounding=Rounding.NONE, latency=8.0)  # and NaN wins
_CHOSEN = ScalarFacts(rounding=Rounding.NONE, flops=0, latency=2.0)
_MOVED = ScalarFacts(rounding=Rounding.NONE, flops=0)
_FREE = ScalarFacts(0.0, rounding=Rounding.NONE, flops=0)
_SUM = ScalarFacts(rounding=Rounding.TERMS)
_FUSED = ScalarFacts(rounding=Rounding.TERMS, flops=2)
_INTEGER_DIVISION = ScalarFacts(20.0, is_scalarized=True)

FACTS: dict[str, ScalarFacts] = {
    "arith.constant": _FREE,
    "arith.index_cast": _FREE,
    "arith.bitcast": _FREE,
    "arith.select": _CHOSEN,
    "arith.extf": _MOVED,
    "arith.truncf": ScalarFacts(flops=0),
    "arith.sitofp": ScalarFacts(flops=0),
    "arith.uitofp": ScalarFacts(flops=0),
    "arith.addf": _SUM,
    "arith.subf": _SUM,
    "arith.divf": ScalarFacts(5.0, "div"),
    "arith.remf": ScalarFacts(20.0, rounding=Rounding.NONE),
    "arith.negf": _EXACT,
    "arith.maximumf": _LIMIT,
    "arith.minimumf": _LIMIT,
    "arith.maxnumf": _LIMIT,
    "arith.minnumf": _LIMIT,
    **dict.fromkeys(("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"), ScalarFacts(latency=2.0)),
    "arith.divsi": _INTEGER_DIVISION,
    "arith.divui": _INTEGER_DIVISION,
    "arith.remsi": _INTEGER_DIVISION,
    "arith.remui": _INTEGER_DIVISION,
    "math.absf": _EXACT,
    "math.absi": _EXACT,
    "math.ceil": _EXACT,
    "math.copysign": _EXACT,
    "math.floor": _EXACT,
    "math.fma": _FUSED,
    "math.round": ScalarFacts(20.0, "exp", Rounding.NONE),
    "math.roundeven": _EXACT,
    "math.sqrt": ScalarFacts(5.0, "sqrt"),
    "math.trunc": _EXACT,
    "vector.bitcast": _MOVED,
    "vector.broadcast": _MOVED,
    "vector.extract": _MOVED,
    "vector.fma": _FUSED,
    "vector.insert": _MOVED,
    "vector.shuffle": _MOVED,
}


def facts_of(op: Operation) -> ScalarFacts:
    """The facts of an op on scalars or vectors."""
    found = FACTS.get(op.name)
    if found is None:
        return _FUNCTION if is_function(op) else _INSTRUCTION
    return found
