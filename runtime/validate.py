"""Check passes by running: the reference interpreter before and after each one, on generated inputs.

The first pass that changed the meaning of a function is named with an input that shows it, made as simple as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ..dialects.types import DYNAMIC, numpy_dtype
from ..errors import LaminaError
from .inputs import KINDS, generate
from .interpreter import InterpreterError, interpret

DYNAMIC_SIZE = 3
"""What a `?` dim is given."""

MAX_ELEMENTS = 1 << 20
"""Functions on more elements than this are not run; the report says so."""

_TRANSFORMS = ("graph.jvp", "graph.vjp", "graph.vmap", "graph.transposed")


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


def validate_each(module: ModuleOp, passes: Sequence[Any], ctx: Context, seed: int = 0) -> Report:
    """Apply passes to a module, in place, comparing the results of its public functions before and after each.

    Args:
        passes: objects with `name` and `apply(ctx, module)`; a class attribute `numerics = "exact"` asks for bit-identical
            results, otherwise reductions may be reassociated and products contracted.
        seed: of the generated inputs.

    Raises:
        ValidationError: naming the pass.
    """
    report = Report()
    cases = _cases(module, seed, report)
    for case in cases:
        case.expected = _run(module, case, case.inputs)
        if case.expected is None and case.kind == KINDS[0]:
            report.skipped.append(
                f"@{case.function}: compared from the pass on that expands the last of {', '.join(_TRANSFORMS)}"
            )
    for step in passes:
        before = module.clone()
        step.apply(ctx, module)
        exact = getattr(step, "numerics", None) == "exact"
        for case in cases:
            if not _has(module, case.function):
                raise ValidationError(f"pass '{step.name}' dropped @{case.function}", step.name, case.inputs)
            if not _executable(module, case.function):
                continue
            if case.expected is None:  # not executable until now: this is the reference from here on
                case.expected = _run(module, case, case.inputs)
                continue
            try:
                got = _run(module, case, case.inputs)
            except InterpreterError as error:
                raise ValidationError(
                    f"pass '{step.name}' left @{case.function} so that it cannot be run: {error}", step.name, case.inputs
                ) from error
            report.runs += 1
            assert got is not None
            if _differ(case.expected, got, exact) is not None:
                raise _failure(step.name, before, module, case, exact)
    return report


def _cases(module: ModuleOp, seed: int, report: Report) -> list[_Case]:
    cases: list[_Case] = []
    for function in module.body.block.ops:
        if not isinstance(function, FuncOp) or not function.body.blocks:
            continue
        name = function.sym_name.data
        if function.sym_visibility is not None and function.sym_visibility.data == "private":
            continue
        try:
            specs = [_spec(argument) for argument in _inputs(function)]
        except (KeyError, AttributeError, TypeError):
            report.skipped.append(f"@{name}: its arguments are not tensors or buffers of known types")
            continue
        if sum(int(np.prod(shape, dtype=np.int64)) for _, shape in specs) > MAX_ELEMENTS:
            report.skipped.append(f"@{name}: more than {MAX_ELEMENTS} elements")
            continue
        for kind in KINDS:
            rng = np.random.default_rng((seed, KINDS.index(kind)))
            cases.append(_Case(name, kind, [generate(dtype, shape, kind, rng) for dtype, shape in specs], None))
    return cases


def _inputs(function: FuncOp) -> Sequence[SSAValue]:
    arguments = list(function.body.block.args)
    results: Any = function.attributes.get("lamina.results")
    if results is None:
        return arguments
    return arguments[: len(arguments) - results.value.data - ("lamina.arena" in function.attributes)]


def _spec(argument: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    shape = tuple(DYNAMIC_SIZE if n == DYNAMIC else n for n in argument.type.get_shape())
    return numpy_dtype(argument.type.element_type), shape


def _has(module: ModuleOp, name: str) -> bool:
    return any(isinstance(op, FuncOp) and op.sym_name.data == name for op in module.body.block.ops)


def _executable(module: ModuleOp, name: str) -> bool:
    return _has(module, name) and not any(op.name in _TRANSFORMS for op in module.walk())


def _run(module: ModuleOp, case: _Case, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...] | None:
    return interpret(module, case.function, inputs) if _executable(module, case.function) else None


def _differ(expected: Sequence[np.ndarray], got: Sequence[np.ndarray], exact: bool) -> int | None:
    """The number of the first result that differs, or None."""
    if len(expected) != len(got):
        return 0
    for k, (a, b) in enumerate(zip(expected, got, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape or not _close(a, b, exact):
            return k
    return None


def _close(a: np.ndarray, b: np.ndarray, exact: bool) -> bool:
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    if exact:
        signs = np.isnan(a) | (np.signbit(a) == np.signbit(b))
        return np.array_equal(a, b, equal_nan=True) and bool(signs.all())
    # sums in another order: relative to the largest term that can have met; overflow on one side alone is order, too
    eps = float(np.finfo(a.dtype).eps)
    finite = np.isfinite(a) & np.isfinite(b)
    scale = np.max(np.abs(a[finite]), initial=0)
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= 256 * eps * (np.abs(a) + scale) + float(np.finfo(a.dtype).tiny)
    return bool(np.all(near | (a == b) | (np.isnan(a) & np.isnan(b))))


def _failure(name: str, before: ModuleOp, after: ModuleOp, case: _Case, exact: bool) -> ValidationError:
    inputs = _minimised(before, after, case, exact)
    expected, got = _run(before, case, inputs), _run(after, case, inputs)
    assert expected is not None and got is not None
    k = _differ(expected, got, exact)
    assert k is not None
    shown = "; ".join(f"{x.dtype}{list(x.shape)} {_brief(x)}" for x in inputs)
    return ValidationError(
        f"pass '{name}' changed the meaning of @{case.function}: on the {case.kind} input ({shown}) "
        f"result {k} is {_brief(got[k])}, before it was {_brief(expected[k])}",
        name,
        inputs,
    )


def _minimised(before: ModuleOp, after: ModuleOp, case: _Case, exact: bool) -> list[np.ndarray]:
    """The failing input with as many elements as possible set to 0 or 1, in pieces that shrink."""

    def fails(inputs: Sequence[np.ndarray]) -> bool:
        try:
            a, b = _run(before, case, inputs), _run(after, case, inputs)
        except InterpreterError:
            return False
        return a is not None and b is not None and _differ(a, b, exact) is not None

    inputs = [x.copy() for x in case.inputs]
    budget = 200
    for x in inputs:
        flat = x.reshape(-1)
        size = flat.size
        while size >= 1 and budget > 0:
            for start in range(0, flat.size, size):
                piece = flat[start : start + size]
                for simple in (0, 1):
                    if budget <= 0 or np.array_equal(piece, np.full_like(piece, simple)):
                        continue
                    budget -= 1
                    kept = piece.copy()
                    piece[...] = simple
                    if fails(inputs):
                        break
                    piece[...] = kept
            size //= 2
    return inputs


def _brief(x: np.ndarray) -> str:
    return np.array2string(x, threshold=16, edgeitems=3, max_line_width=1 << 20).replace("\n", "")


__all__ = ["Report", "ValidationError", "validate_each"]
