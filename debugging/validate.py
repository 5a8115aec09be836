"""Checks passes by running: the reference interpreter before and after each one, on generated inputs.

The first pass that changed the meaning of a function or kernel is named with an input that shows it, as simple as possible.
Transformations of functions are run by their definitions (`differences.py`), so that the passes that expand them are checked as
well; uninitialized memory is filled in two ways, which no result may show; and the last step is machine code (`native.py`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..errors import LaminaError
from ..runtime.inputs import KINDS
from ..runtime.interpreter import Interpreter, InterpreterError, TooLongError
from .cases import Case, Make, Skip, cases_of
from .comparison import Derived, Near, brief, describe_difference, first_difference
from .conditioned import Condition, measured
from .differences import STEPS, ByDifferences, has_transforms, lifted

MAX_ITERATIONS = 60_000
"""Loop iterations of one run, about a second; functions that take more are left out from that pass on, with a note."""

MAX_TOTAL = 150_000
"""Loop iterations of all runs of a function after one pass; further inputs are left out from that pass on."""

NATIVE = "machine code"
"""The name in messages of the step from the program to machine code."""


class ValidationError(LaminaError):
    """A pass changed the meaning of a function, or left it so that it cannot be run.

    Attributes:
        pass_name: of the pass that is named.
        inputs: on which it shows.
        subject: the function or kernel, as `@main`.
        kind: of the inputs, as `normal`; empty if it shows without inputs.
    """

    def __init__(self, message: str, pass_name: str, inputs: Sequence[np.ndarray], subject: str = "", kind: str = ""):
        super().__init__(message)
        self.pass_name, self.subject, self.kind = pass_name, subject, kind
        self.inputs = list(inputs)


@dataclass
class Report:
    """The checks made: runs compared, passes that changed nothing, and functions left out with the reason."""

    runs: int = 0
    unchanged: int = 0
    skipped: list[str] = field(default_factory=list)


NativeRun = Callable[[Case, Sequence[np.ndarray]], Any]
"""Runs a case as machine code; None if it is not there."""


def to_stderr(note: str) -> None:
    """Print a note for the user."""
    print(f"note: {note}", file=sys.stderr)


def validate_each(
    module: ModuleOp,
    passes: Sequence[Any],
    ctx: Context,
    seed: int = 0,
    note: Callable[[str], None] = to_stderr,
    *,
    seeds: int = 1,
    after: Callable[[str, ModuleOp, float], None] | None = None,
    native: Callable[[ModuleOp], NativeRun] | None = None,
    simplify: bool = True,
    kind: str = "",
) -> Report:
    """Apply passes to a module, in place, comparing the results of its functions and kernels before and after each.

    Args:
        passes: objects with `name` and `apply(ctx, module)`; a class attribute `numerics` says how near results must stay:
            "exact" (every bit, NaNs alike), "ulp(k)" (within k units in the last place), "finite" (as without a word, for
            finite inputs: products with zeros are left out) or, if there is none, "reassociating" (sums in another order:
            as far as the condition of the computation lets roundings move a result).
        seed: of the generated inputs.
        note: receives what could not be checked; standard error by default.
        seeds: how many seeds, from `seed` on.
        after: called after every pass with its name, the module and the seconds that the pass itself took.
        native: makes machine code of the module after the last pass, which is compared as if it were one more.
        simplify: whether the input of an error is made as simple as possible, which may take seconds.
        kind: of the inputs, if not all of them are wanted: one of `runtime.inputs.KINDS`.

    Raises:
        ValidationError: naming the pass.
    """
    validation = _Validation(module, ctx, [seed + k for k in range(seeds)], note)
    validation.simplify = simplify
    if kind:
        validation.cases = [case for case in validation.cases if case.kind == kind]
    return validation.run(passes, after, native)


class _Validation:
    """One module on its way through passes."""

    def __init__(self, module: ModuleOp, ctx: Context, seeds: Sequence[int], note: Callable[[str], None]):
        self.module, self.ctx, self.note = module, ctx, note
        self.report = Report()
        self.simplify = True
        self.kept: dict[str, dict[Any, Interpreter]] = {}
        """The interpreters of the module as it is, of plain runs and of each other way."""
        self.origin: ModuleOp | None = None
        """The first module that runs without differences."""
        self.cases = cases_of(module, seeds, self.skip)

    def skip(self, subject: str, why: str) -> None:
        """Say that something is not checked."""
        self.report.skipped.append(f"{subject}: {why}")
        self.note(f"validation of {subject}: {why}")

    def run(self, passes: Sequence[Any], after: Any, native: Any) -> Report:
        """Apply the passes, each compared."""
        self._establish_all("")
        for number, step in enumerate(passes):
            before = self.module.clone()
            self.kept.clear()
            start = time.perf_counter()
            step.apply(self.ctx, self.module)
            seconds = time.perf_counter() - start
            if after is not None:
                after(step.name, self.module, seconds)
            # the first one is compared in any case: it tells whether the input depends on uninitialized memory
            if number and before.is_structurally_equivalent(self.module):
                self.report.unchanged += 1
                continue
            self._compare_all(step.name, getattr(step, "numerics", None) or "reassociating", before)
        if native is not None:
            self._compare_native(native)
        return self.report

    # -- references

    def _establish_all(self, when: str) -> None:
        """The references of all cases that have none yet."""
        transforms = has_transforms(self.module)
        if not transforms and self.origin is None:
            self.origin = self.module.clone()
        wide = lifted(self.module) if transforms else None
        for subject in dict.fromkeys(case.subject for case in self.cases):
            self._establish([c for c in self.cases if c.subject == subject and not c.dropped], wide, when)

    def _establish(self, cases: list[Case], wide: ModuleOp | None, when: str) -> None:
        reasons: list[str] = []
        for case in cases:
            if case.expected is not None or case.dropped:
                continue
            if wide is not None:
                self._by_differences(case, wide)
                continue
            try:
                self._reference(case)
            except InterpreterError as error:
                case.dropped = True
                reasons.append(str(error))
        if not cases or wide is not None:
            return
        kept = [case for case in cases if not case.dropped]
        if reasons and not kept:
            self.skip(cases[0].subject, f"not run{when}: {reasons[0]}")
        if any(case.sizes == "" for case in kept):  # different sizes show all faults that equal ones do
            for case in kept:
                case.dropped |= case.sizes == "equal"

    def _reference(self, case: Case) -> None:
        case.origin = self.origin
        case.settled = True
        try:
            case.expected = case.run(self.module, case.inputs, MAX_ITERATIONS)
        except TooLongError:
            raise
        except InterpreterError:
            if not any(x.dtype.kind in "iu" for x in case.inputs):
                raise
            # integers may be indices of arrays: 0 is within any that are not empty
            case.inputs = [x % 2 if x.dtype.kind in "iu" else x for x in case.inputs]
            case.expected = case.run(self.module, case.inputs, MAX_ITERATIONS)

    def _by_differences(self, case: Case, wide: ModuleOp) -> None:
        """A reference for a module with functions of functions in it, on normal numbers."""
        if case.kind != KINDS[0] or case.is_kernel or case.settled:
            return
        case.settled = True
        found = self._differ_by_definition(case, wide)
        if isinstance(found, str):
            self.skip(case.subject, f"compared from the pass on that expands the last function of a function: {found}")
        else:
            case.expected, case.other = found

    def _differ_by_definition(self, case: Case, wide: ModuleOp) -> Any:
        """Results with both steps, in float64; or why there are none."""
        inputs = [x.astype(np.float64) if x.dtype.kind == "f" or "float" in x.dtype.name else x for x in case.inputs]
        results: list[Any] = []
        for step in STEPS:

            def make(module: ModuleOp, limit: int | None, perform: Any, step: float = step) -> Interpreter:
                return ByDifferences(module, step, limit, lambda *_, **__: None)

            try:
                results.append(case.run(wide, inputs, None, make))
            except (InterpreterError, TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
                return str(error).partition("\n")[0]
        return results

    # -- comparisons

    def _compare_all(self, name: str, numerics: str, before: ModuleOp) -> None:
        module = self.module
        transforms = has_transforms(module)
        wide = lifted(module) if transforms else None
        if not transforms and self.origin is None:
            self.origin = module.clone()
        spent: dict[str, int] = {}
        for case in self.cases:
            if case.dropped:
                continue
            if not case.is_in(module):
                if case.is_kernel:
                    self._drop(case, f"gone after '{name}'")
                    continue
                raise ValidationError(f"pass '{name}' dropped {case.subject}", name, case.inputs, case.subject, case.kind)
            if case.expected is None:
                continue
            if case.other is not None:
                self._compare_derived(case, name, wide)
                continue
            if spent.get(case.subject, 0) > MAX_TOTAL:
                case.dropped = True
                self.skip(case.subject, f"from '{name}' on not run on the {case.described}: runs take long")
                continue
            self._compare(case, name, numerics, before)
            spent[case.subject] = spent.get(case.subject, 0) + case.iterations
        if not transforms:
            self._establish_all(f" after '{name}'")

    def _compare(self, case: Case, name: str, numerics: str, before: ModuleOp) -> None:
        got = self._outcome(case, name)
        if got is None:
            return
        near = self._near(case, case.inputs, numerics)
        if (numerics != "finite" or case.is_finite) and first_difference(case.expected or (), got, near) is not None:
            run = lambda inputs: case.run(self.module, inputs, MAX_ITERATIONS)  # noqa: E731
            reference = lambda inputs: case.run(before, inputs, MAX_ITERATIONS)  # noqa: E731
            raise self._failure(name, case, numerics, reference, run)
        case.expected = got  # each pass answers for its own changes
        if case.kind == KINDS[0] and any(op.name in _MEMORY for op in self.module.walk()):
            self._compare_memory(case, name, got)

    def _outcome(self, case: Case, name: str, make: Make = Interpreter, way: str = "") -> Any:
        try:
            got = case.run(self.module, case.inputs, MAX_ITERATIONS, make, self.kept.setdefault(way, {}))
        except TooLongError as error:
            self._drop(case, f"from '{name}' on not run: {error} ({MAX_ITERATIONS})")
            return None
        except InterpreterError as error:
            message = f"pass '{name}' left {case.subject} so that it cannot be run: {error}"
            raise ValidationError(message, name, case.inputs, case.subject, case.kind) from error
        self.report.runs += 1
        return got

    def _compare_memory(self, case: Case, name: str, got: Sequence[np.ndarray]) -> None:
        """Run with other bytes in uninitialized memory, another order of parallel iterations, over donated arguments."""
        for attribute, value, fault in _WAYS:

            def make(*args: Any, attribute: str = attribute, value: Any = value) -> Interpreter:
                made = Interpreter(*args)
                setattr(made, attribute, value)
                return made

            again = self._outcome(case, name, make, attribute)
            if again is None:
                return
            exact = Near("exact", lambda: None)
            if (k := first_difference(got, again, exact)) is not None:
                shown = describe_difference(k, got, again, exact)
                message = f"pass '{name}' left {case.subject} so that {fault}: on the {case.described} {shown}"
                raise ValidationError(message, name, case.inputs, case.subject, case.kind)

    def _compare_derived(self, case: Case, name: str, wide: ModuleOp | None) -> None:
        """Compare with the results of differences."""
        assert case.expected is not None and case.other is not None
        if wide is not None:
            found = self._differ_by_definition(case, wide)
            if isinstance(found, str):
                self.skip(case.subject, f"after '{name}' derivatives are not found by differences: {found}")
                case.expected = case.other = None
                return
            got, other = found
        else:
            other = None
            got = self._outcome(case, name)
            if got is None:
                return
        self.report.runs += 1
        expected, near = case.expected, Derived(case.other)
        got = tuple(got)[: len(expected)]  # effects are not told to differences
        k = first_difference(expected, got, near)
        if k is not None:
            shown = "; ".join(f"{x.dtype}{list(x.shape)} {brief(x)}" for x in case.inputs)
            raise ValidationError(
                f"pass '{name}' changed the meaning of {case.subject}: on the {case.described} ({shown}) "
                f"{describe_difference(k, expected, got, near)}, by finite differences and loops",
                name,
                case.inputs,
                case.subject,
                case.kind,
            )
        # from here on by its own results
        case.expected, case.other = (got, other) if wide is not None else (None, None)

    def _compare_native(self, native: Callable[[ModuleOp], NativeRun]) -> None:
        run_native = native(self.module.clone())
        for case in self.cases:
            if case.dropped or case.expected is None or case.other is not None:
                continue
            got = run_native(case, case.inputs)
            if got is None:
                if case.kind == KINDS[0]:
                    self.skip(case.subject, f"{NATIVE} is not run: it has effects, or nobody can call it from outside")
                continue
            self.report.runs += 1
            near = self._near(case, case.inputs, "reassociating")
            if first_difference(case.expected[: len(got)], got, near) is not None:
                n = len(got)
                reference = lambda inputs, case=case, n=n: case.run(self.module, inputs, MAX_ITERATIONS)[:n]  # noqa: E731
                raise self._failure(NATIVE, case, "reassociating", reference, lambda inputs, c=case: run_native(c, inputs))

    def _near(self, case: Case, inputs: Sequence[np.ndarray], numerics: str) -> Near:
        found: list[Condition | None] = []

        def condition() -> Condition | None:
            if not found:
                found.append(self._condition(case, inputs))
            return found[0]

        return Near(numerics, condition, finite=case.kind == "extreme")

    def _condition(self, case: Case, inputs: Sequence[np.ndarray]) -> Condition | None:
        """How far the results of a case may move on some inputs; kept for its own."""
        own = inputs is case.inputs
        if own and 0 in case.measured:
            return case.measured[0]
        assert case.origin is not None
        try:
            base = case.run(case.origin, inputs, MAX_ITERATIONS)
        except InterpreterError:
            return None
        found = measured(base, case.perturbed(inputs, MAX_ITERATIONS), case.seed)
        if own:
            case.measured[0] = found
        return found

    def _drop(self, case: Case, why: str) -> None:
        for other in self.cases:
            if other.subject == case.subject:
                other.dropped = True
        self.skip(case.subject, why)

    # -- messages

    def _failure(self, name: str, case: Case, numerics: str, before: Any, after: Any) -> ValidationError:
        def compared(inputs: Sequence[np.ndarray]) -> tuple[Any, Any, Near, int | None]:
            a, b = before(inputs), after(inputs)
            near = self._near(case, inputs, numerics)
            return a, b, near, first_difference(a, b, near)

        def fails(inputs: Sequence[np.ndarray]) -> bool:
            try:
                return compared(inputs)[3] is not None
            except InterpreterError:
                return False

        inputs = simplified(case.inputs, fails) if self.simplify else case.inputs
        expected, got, near, k = compared(inputs)
        if k is None:  # it differed from the results before, which its own run does not reproduce
            inputs = case.inputs
            expected, got, near, k = compared(inputs)
        shown = "; ".join(f"{x.dtype}{list(x.shape)} {brief(x)}" for x in inputs)
        told = "does not say the same twice" if k is None else describe_difference(k, expected, got, near)
        return ValidationError(
            f"pass '{name}' changed the meaning of {case.subject}: on the {case.described} ({shown}) {told}",
            name,
            inputs,
            case.subject,
            case.kind,
        )


_MEMORY = ("memref.alloc", "loop.alloc", "program.func", "loop.kernel")

_WAYS: tuple[tuple[str, Any, str], ...] = (
    ("fill", 0x2A, "it reads uninitialized memory"),
    ("backwards", False, "it depends on the order of parallel iterations"),
    ("over_donated", True, "a result over a donated argument is wrong"),
)
"""Other ways to run the same program: an attribute of the interpreter, its value, and the fault if results differ."""


def simplified(
    found: Sequence[np.ndarray], fails: Callable[[Sequence[np.ndarray]], bool], budget: int = 200, seconds: float = 8.0
) -> list[np.ndarray]:
    """A failing input with as many elements as possible set to 0 or 1, in chunks that shrink."""
    inputs = [x.copy() for x in found]
    end = time.perf_counter() + seconds
    for x in inputs:
        flat = x.reshape(-1)
        size = flat.size
        while size >= 1 and budget > 0 and time.perf_counter() < end:
            for start in range(0, flat.size, size):
                chunk = flat[start : start + size]
                if (np.isin(chunk, (0, 1)) & ~np.signbit(np.real(chunk).astype(np.float64))).all():
                    continue  # as simple as can be
                for simple in (0, 1):
                    if budget <= 0:
                        break
                    budget -= 1
                    kept = chunk.copy()
                    chunk[...] = simple
                    if fails(inputs):
                        break
                    chunk[...] = kept
            size //= 2
    return inputs


__all__ = ["NATIVE", "Report", "Skip", "ValidationError", "validate_each"]
