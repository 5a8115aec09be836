"""Check passes by running: the reference interpreter before and after each one, on generated inputs.

The first pass that changed the meaning of a function is named with an input that shows it, made as simple as possible.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from ..dialects.graph.base import GraphOp
from ..dialects.loop.structure import ForOp
from ..dialects.program import functions_of, inputs_of
from ..dialects.size_atoms import Symbol
from ..dialects.symbolic import substituted
from ..dialects.types import DYNAMIC
from ..errors import LaminaError
from .inputs import KINDS, generate
from .interpreter import InterpreterError, TooLongError, interpret, shape_and_dtype
from .sites import Site

DYNAMIC_SIZE = 3
"""What a `?` dim is given."""

MAX_ELEMENTS = 1 << 20
"""Functions on more elements than this are not run; the report says so."""

_PRIVATE = StringAttr("private")

MAX_ITERATIONS = 60_000
"""Loop iterations of one run, about a second; functions that take more are left out from that pass on, with a note."""

_TRANSFORMS = ("graph.jvp", "graph.vjp", "graph.vmap", "graph.transposed")
_SUMMING = ("graph.reduce", "graph.dot", "loop.reduce_lanes", "vector.reduction", "math.fma", "vector.fma", *_TRANSFORMS)


class ValidationError(LaminaError):
    """A pass changed what a function computes, or left it so that it cannot be run."""

    def __init__(self, message: str, pass_name: str, inputs: Sequence[np.ndarray]):
        super().__init__(message)
        self.pass_name = pass_name
        self.inputs = list(inputs)


@dataclass
class Report:
    """What was checked: runs compared, and functions left out with the reason."""

    runs: int = 0
    skipped: list[str] = field(default_factory=list)


@dataclass
class _Case:
    """One function on one input, and what it gave before the passes."""

    function: str
    kind: str
    inputs: list[np.ndarray]
    expected: tuple[np.ndarray, ...] | None
    dropped: bool = False

    @property
    def is_finite(self) -> bool:
        """Whether no input has an infinity or a NaN."""
        return all(x.dtype.kind not in "fc" or bool(np.isfinite(x).all()) for x in self.inputs)


Skip = Callable[[str, str], None]
"""Called with a function and why it is not checked."""


def to_stderr(note: str) -> None:
    """Print a note for the user."""
    print(f"note: {note}", file=sys.stderr)


def validate_each(
    module: ModuleOp, passes: Sequence[Any], ctx: Context, seed: int = 0, note: Callable[[str], None] = to_stderr
) -> Report:
    """Apply passes to a module, in place, comparing the results of its public functions before and after each.

    Args:
        passes: objects with `name` and `apply(ctx, module)`; a class attribute `numerics` says how near results must stay:
            "exact" (every bit, NaNs alike), "ulp(k)" (within k units in the last place), "finite" (as without a word, for
            finite inputs: products with zeros are left out) or, if there is none, "reassociating" (sums in another order;
            where nothing is summed, each element by itself).
        seed: of the generated inputs.
        note: is told what could not be checked; standard error by default.

    Raises:
        ValidationError: naming the pass.
    """
    report = Report()

    def skip(function: str, why: str) -> None:
        report.skipped.append(f"@{function}: {why}")
        note(f"validation of @{function}: {why}")

    cases = _cases(module, seed, skip)
    for case in cases:
        if not case.dropped:
            _establish(module, case, cases, skip, "")
        if not case.dropped and case.expected is None and case.kind == KINDS[0]:
            skip(case.function, f"compared from the pass on that expands the last of {', '.join(_TRANSFORMS)}")
    for step in passes:
        before = module.clone()
        step.apply(ctx, module)
        numerics = getattr(step, "numerics", None) or "reassociating"
        for case in cases:
            if case.function not in functions_of(module):
                raise ValidationError(f"pass '{step.name}' dropped @{case.function}", step.name, case.inputs)
            if case.dropped or not _executable(module, case.function):
                continue
            if case.expected is None:  # not executable until now: this is the reference from here on
                _establish(module, case, cases, skip, f" after '{step.name}'")
                continue
            try:
                got = _run(module, case, case.inputs)
            except TooLongError as error:
                _drop(case, cases, skip, f"from '{step.name}' on not run: {error} ({MAX_ITERATIONS})")
                continue
            except InterpreterError as error:
                raise ValidationError(
                    f"pass '{step.name}' left @{case.function} so that it cannot be run: {error}", step.name, case.inputs
                ) from error
            report.runs += 1
            assert got is not None
            near = _Near(numerics, _sums(before) or _sums(module))
            compared = numerics != "finite" or case.is_finite
            if compared and _differ(case.expected, got, near) is not None:
                raise _failure(step.name, before, module, case, near)
            case.expected = got  # each pass answers for what it changed itself
    return report


def _establish(module: ModuleOp, case: _Case, cases: Sequence[_Case], skip: Skip, when: str) -> None:
    """The reference of a case; without one, its function is left out."""
    try:
        case.expected = _run(module, case, case.inputs)
    except InterpreterError as error:
        _drop(case, cases, skip, f"not run{when}: {error}")


def _drop(case: _Case, cases: Sequence[_Case], skip: Skip, why: str) -> None:
    for other in cases:
        if other.function == case.function:
            other.dropped = True
    skip(case.function, why)


def _cases(module: ModuleOp, seed: int, skip: Skip) -> list[_Case]:
    cases: list[_Case] = []
    for name, function in functions_of(module).items():
        if function.sym_visibility == _PRIVATE:
            continue
        try:
            specs = [_spec(argument) for argument in inputs_of(function)]
        except (KeyError, AttributeError, TypeError):
            skip(name, "its arguments are not of types that can be generated")
            continue
        if sum(int(np.prod(shape, dtype=np.int64)) for _, shape in specs) > MAX_ELEMENTS:
            skip(name, f"more than {MAX_ELEMENTS} elements")
            continue
        for kind in KINDS:
            rng = np.random.default_rng((seed, KINDS.index(kind)))
            cases.append(_Case(name, kind, [generate(dtype, shape, kind, rng) for dtype, shape in specs], None))
    return cases


def _spec(argument: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    shape, dtype = shape_and_dtype(argument.type)
    return dtype, tuple(DYNAMIC_SIZE if n == DYNAMIC else substituted(n, _value_of) for n in shape)


def _value_of(symbol: Symbol) -> int:
    """The number that a symbol is taken to be."""
    number = -(-max(symbol.low, DYNAMIC_SIZE) // symbol.multiple) * symbol.multiple
    return number if symbol.high is None else min(number, symbol.high)


def _executable(module: ModuleOp, name: str) -> bool:
    return name in functions_of(module) and not any(op.name in _TRANSFORMS for op in module.walk())


def _run(module: ModuleOp, case: _Case, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...] | None:
    if not _executable(module, case.function):
        return None
    happened: list[np.ndarray] = []

    def note(site: Site, operands: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        """What is told and checked, as further results; an assertion that fails ends nothing here."""
        if results:
            raise InterpreterError(f"callback {site.text}() is known to what traced it alone")
        happened.append(np.frombuffer(f"{site.kind} {site.text}".encode(), np.uint8))
        happened.extend(np.array(operand) for operand in operands)

    found = interpret(module, case.function, inputs, MAX_ITERATIONS, note)
    return (*found, *happened)


def _sums(module: ModuleOp) -> bool:
    """Whether elements of a result may come from sums, so that their error is relative to terms that are no longer seen."""
    return any(
        op.name in _SUMMING or (isinstance(op, GraphOp) and op.composite) or (isinstance(op, ForOp) and bool(op.results))
        for op in module.walk()
    )


@dataclass(frozen=True)
class _Near:
    """How near the results before and after a pass must be."""

    numerics: str
    sums: bool

    def each(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether each element is near enough; of complex numbers both parts, of which one may cancel in any order."""
        if a.dtype.kind == "c":
            as_sums = replace(self, numerics="reassociating", sums=True)
            return as_sums.each(np.real(a), np.real(b)) & as_sums.each(np.imag(a), np.imag(b))
        if a.dtype.kind != "f":
            return a == b
        nans = np.isnan(a) & np.isnan(b)
        if self.numerics == "exact":
            return nans | ((a == b) & (np.signbit(a) == np.signbit(b)))
        if self.numerics.startswith("ulp("):
            return nans | (_ulps(a, b) <= int(self.numerics[4:-1]))
        facts = np.finfo(a.dtype)
        with np.errstate(all="ignore"):
            if self.sums:  # relative to the largest term that can have met
                finite = np.isfinite(a) & np.isfinite(b)
                allowed = 256 * float(facts.eps) * (np.abs(a) + np.max(np.abs(a[finite]), initial=0)) + float(facts.tiny)
            else:
                finite = np.isfinite(a)
                allowed = np.where(finite, 256 * (float(facts.eps) * np.abs(a) + float(facts.smallest_subnormal)), 0)
            near = np.abs(a - b) <= allowed
        return near | (a == b) | nans


def _ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many floats lie between; infinitely many between 0 and -0, and to infinities and NaNs."""
    bits = np.dtype(f"i{a.dtype.itemsize}")
    # bits without the sign count the floats from zero; subtracted as integers, since a double cannot hold them
    x, y = [v.view(bits) & np.iinfo(bits).max for v in (a, b)]
    same_sign = np.signbit(a) == np.signbit(b)
    between = np.where(same_sign, np.abs(x - y).astype(np.float64), x.astype(np.float64) + y)
    near = np.isfinite(a) & np.isfinite(b) & (same_sign | (a != b))
    return np.where((a == b) & same_sign, 0.0, np.where(near, between, np.inf))


def _differ(expected: Sequence[np.ndarray], got: Sequence[np.ndarray], near: _Near) -> int | None:
    """The number of the first result that differs, or None."""
    if len(expected) != len(got):
        return 0
    for k, (a, b) in enumerate(zip(expected, got, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape or not np.all(near.each(a, b)):
            return k
    return None


def _failure(name: str, before: ModuleOp, after: ModuleOp, case: _Case, near: _Near) -> ValidationError:
    inputs = _minimised(before, after, case, near)
    expected, got = _run(before, case, inputs), _run(after, case, inputs)
    assert expected is not None and got is not None
    k = _differ(expected, got, near)
    assert k is not None
    shown = "; ".join(f"{x.dtype}{list(x.shape)} {_brief(x)}" for x in inputs)
    return ValidationError(
        f"pass '{name}' changed the meaning of @{case.function}: on the {case.kind} input ({shown}) "
        f"{_difference(k, expected, got, near)}",
        name,
        inputs,
    )


def _difference(k: int, expected: Sequence[np.ndarray], got: Sequence[np.ndarray], near: _Near) -> str:
    if len(expected) != len(got):
        return f"it gives {len(got)} results, before it was {len(expected)}"
    a, b = expected[k], got[k]
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"result {k} is {b.dtype}{list(b.shape)}, before it was {a.dtype}{list(a.shape)}"
    if a.size <= 16:
        return f"result {k} is {_brief(b)}, before it was {_brief(a)}"
    wrong = np.argwhere(~near.each(a, b))
    at = tuple(wrong[0])
    return f"result {k} at {[int(i) for i in at]} is {b[at]}, before it was {a[at]} ({len(wrong)} of {a.size} elements differ)"


def _minimised(before: ModuleOp, after: ModuleOp, case: _Case, near: _Near) -> list[np.ndarray]:
    """The failing input with as many elements as possible set to 0 or 1, in pieces that shrink."""

    def fails(inputs: Sequence[np.ndarray]) -> bool:
        try:
            a, b = _run(before, case, inputs), _run(after, case, inputs)
        except InterpreterError:
            return False
        return a is not None and b is not None and _differ(a, b, near) is not None

    inputs = [x.copy() for x in case.inputs]
    budget = 200
    for x in inputs:
        flat = x.reshape(-1)
        size = flat.size
        while size >= 1 and budget > 0:
            for start in range(0, flat.size, size):
                piece = flat[start : start + size]
                if (np.isin(piece, (0, 1)) & ~np.signbit(piece.astype(np.float64))).all():
                    continue  # as simple as can be
                for simple in (0, 1):
                    if budget <= 0:
                        break
                    budget -= 1
                    kept = piece.copy()
                    piece[...] = simple
                    if fails(inputs):
                        break
                    piece[...] = kept
            size //= 2
    return inputs


def _brief(x: np.ndarray) -> str:
    """A small array whole; of a large one what is not its most frequent value."""
    if x.size <= 16:
        return np.array2string(x, max_line_width=1 << 20).replace("\n", "")
    values, counts = np.unique(x, return_counts=True)
    usual = values[counts.argmax()]
    others = np.argwhere((x != usual) | (np.signbit(x) != np.signbit(usual)) if x.dtype.kind == "f" else x != usual)
    listed = ", ".join(f"{x[tuple(at)]} at {[int(i) for i in at]}" for at in others[:4])
    return f"all {usual}" + (f" but {listed}" if listed else "") + (" ..." if len(others) > 4 else "")


__all__ = ["Report", "ValidationError", "validate_each"]
