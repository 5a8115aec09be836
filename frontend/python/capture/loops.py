"""`while` and `for`: run by Python as long as it knows their conditions, otherwise loops of the program.

A loop starts in Python. It is rolled, that is traced once for all its iterations, when its condition turns out to be traced, or
when an iteration of a known number of them contains traced control flow. If Python did nothing in the iterations before that
cannot be undone, their recorded ops are dropped and the loop is rolled from its first iteration; otherwise from the current
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ....dialects.graph.conditional import WhileOp
from ....dialects.graph.control import ForOp
from ....dialects.graph.effects import EffectOp
from ....dialects.sizes.polynomial import Size, is_at_least, require_at_least
from ....errors import LaminaError, LeastSizeError, ShapeError, SizeError, TracingError, is_interruption
from ...functions.conditional import results_of, share_captured
from ...functions.control import captured_first, convert_results
from ...trace.array_functions import arrays as lnp
from ...trace.locations import located
from ...trace.program import Aval, TracedFunction, staging
from ...trace.promotion import INT64
from ...trace.tracer import Tracer
from ...trace.tracing import lift_as
from .blocks import Block, Value, is_array, is_same, label, line_of, scalar, shown, shown_leaf, slots_of, value_of, zero_like
from .branches import choose, going
from .helper_sites import Site
from .iteration import Items, items_of
from .session import (
    UNBOUND,
    Contents,
    Frame,
    Held,
    Missing,
    Place,
    Scope,
    Slot,
    Variable,
    frame,
    record,
    shared_slots,
    state,
    undo,
)
from .sizes import known
from .writes import holders

UNROLLED = 4
"""Loops with fewer iterations left stay unrolled."""

RETRIED = 64
"""Loops of more iterations are not unrolled where rolling them fails."""

RETRIES = 12
"""How often a body is retraced, each time with other types of carried values."""

Statements = Callable[[], Any]


def while_(scope: Scope, site: Site, test: Statements, body: Statements) -> None:
    """`while test(): body()`."""
    missing = _missing(scope, site)
    last: _Moment | None = None
    while True:
        with frame(traced=False) as asking:
            asked = _test(scope, site, test)
        if isinstance(asked, Tracer):
            if asking.writes:  # the condition would be evaluated once more, in the loop
                raise changed_by_condition(site, {label(slot) for slot, _ in asking.writes.values()})
            break
        if not asked:
            return
        last = _Moment(scope)
        with frame(traced=False) as last.frame:
            body()
    slots = slots_of(scope, site)
    if last is not None and last.can_go_back():
        try:
            last.go_back(scope)
            slots = slots_of(scope, site)
            _Rolled(scope, site, slots, body, test).run(runs=True)
        except Exception as error:  # as where a variable begins as None: the first iteration stays in Python
            if is_interruption(error, timeouts=False):
                raise
            last.go_back(scope)
            body()
            slots = slots_of(scope, site)
            _Rolled(scope, site, slots, body, test).run(runs=False)
    else:
        _Rolled(scope, site, slots, body, test).run(runs=False)
    _require_definite(scope, site, missing)


def changed_by_condition(site: Site, changed: Iterable[str]) -> LaminaError:
    """The error of a loop whose condition changes a value that the loop does not carry."""
    rule = f"the condition of the loop in line {site.line} changes {', '.join(sorted(changed))}"
    return located(TracingError(f"{rule}: ask in the loop: while True: if not condition: break"))


def _test(scope: Scope, site: Site, test: Statements) -> Any:
    """Whether a loop continues: a bool, or a traced one."""
    open_ = going(*(scope.read(flag) for flag in site.stops))
    if open_ is False:
        return False
    asked = known(test())
    if isinstance(asked, Tracer):
        asked = scalar(asked, "the condition of the loop")
        return lnp.logical_and(open_, asked) if isinstance(open_, Tracer) else asked
    return open_ if asked else False


def for_(scope: Scope, site: Site, iterable: Any, body: Callable[[Any], None]) -> None:
    """`for item in iterable: body(item)`."""
    missing = _missing(scope, site)
    items = items_of(iterable)
    if items is None:
        _python_for(scope, site, iterable, body)
    elif isinstance(items.length, Tracer):
        if not items.is_uniform:
            raise located(TracingError("the number of iterations is traced, but a list takes part: stack it to an array"))
        if state.counted and staging().derivatives > 0:
            raise _UnrollError("a gradient needs to know how often a loop runs")  # the loop around it can number its iterations
        _roll(scope, site, items, 0, body, runs=items.size is not None and is_at_least(items.size, 1))
    else:
        _counted(scope, site, items, body)
    if any(isinstance(scope.read(flag), Tracer) for flag in site.stops):
        _require_definite(scope, site, missing)


def _python_for(scope: Scope, site: Site, iterable: Iterable[Any], body: Callable[[Any], None]) -> None:
    for item in iterable:
        open_ = going(*(scope.read(flag) for flag in site.stops))
        if open_ is False:
            return
        _guarded(scope, site, open_, lambda item=item: body(item))


def _guarded(scope: Scope, site: Site, open_: Any, statements: Statements) -> None:
    if isinstance(open_, Tracer):
        choose(scope, slots_of(scope, site), _quiet(site), open_, statements, lambda: None)
    else:
        statements()


def _quiet(site: Site) -> Site:
    return Site(site.line, site.names, site.changed, ({}, {}), site.live, calls=site.calls, guard=True)


def _counted(scope: Scope, site: Site, items: Items, body: Callable[[Any], None]) -> None:
    """A loop of a known number of iterations."""
    may_roll = items.is_uniform
    for k in range(items.length):
        open_ = going(*(scope.read(flag) for flag in site.stops))
        if open_ is False:
            return
        moment, flow = _Moment(scope), state.flow
        with frame(traced=False) as moment.frame:
            _guarded(scope, site, open_, lambda k=k: body(items.item(k)))
        left = items.length - k
        if may_roll and state.flow > flow and left > UNROLLED and moment.can_go_back():
            may_roll = False
            moment.go_back(scope)
            state.counted += 1
            try:
                _roll(scope, site, items, k, body, runs=open_ is True)
                return
            except Exception:  # the rest cannot become one loop: a short rest continues unrolled, and raises its own errors
                if left > RETRIED:
                    raise
                moment.go_back(scope)
                _guarded(scope, site, open_, lambda k=k: body(items.item(k)))
            finally:
                state.counted -= 1


class _UnrollError(Exception):
    """A loop that must be unrolled."""


def _roll(scope: Scope, site: Site, items: Items, first: int, body: Callable[[Any], None], runs: bool) -> None:
    """The iterations from number `first` on as a loop of the program."""
    slots = slots_of(scope, site)
    is_reversible = isinstance(items.length, int) and staging().derivatives > 0
    if not site.stops or is_reversible:
        count = items.length - first if isinstance(items.length, int) else items.length

        def step(i: Any) -> None:
            open_ = going(*(scope.read(flag) for flag in site.stops))
            _guarded(scope, site, open_, lambda: body(items.item(i + first if first else i)))

        _Rolled(scope, site, slots, step, None, count, items.size).run(runs)
        return
    number = Held("number@", first)

    def iteration() -> None:
        k = number.read()
        body(items.item(k))
        number.write(k + 1)

    def test() -> Any:
        return number.read() < items.length

    _Rolled(scope, site, [*slots, number], iteration, lambda: _test(scope, site, test)).run(runs)


# Variables that only a loop assigns


def _missing(scope: Scope, site: Site) -> list[str]:
    return [name for name in site.names if isinstance(scope.read(name), Missing)]


def _require_definite(scope: Scope, site: Site, missing: Sequence[str]) -> None:
    """Take back variables that a run of a loop may have left unassigned."""
    for name in missing:
        if name not in site.definite | site.always and "@" not in name and not isinstance(scope.read(name), Missing):
            scope.write(name, Missing(_reason(site, f"{name!r}", name)))


def _reason(site: Site, what: str, name: str) -> str:
    line = site.lines[0].get(name)
    where = "" if line is None else f" (line {line})"
    return f"{what} is assigned{where} in the loop of line {site.line}, which may end before: assign it before the loop"


def _is_too_small(size: Size | None) -> LeastSizeError | None:
    """The error that requires a size of at least one, so that a loop over it runs; calls without items then run in Python."""
    try:
        if size is not None:
            require_at_least(size, 1)
    except LeastSizeError as error:
        return error
    except SizeError:
        pass
    return None


# Going back


class _Moment:
    """A moment of the trace, to go back to."""

    def __init__(self, scope: Scope):
        trace = staging()
        assert trace.program is not None
        self.trace, self.last, self.back = trace, trace.block.last_op, trace.program.checkpoint()
        self.function = trace.program.module.body.block.last_op
        self.values = scope.values()
        self.shared = [(slot, slot.read()) for slot in shared_slots() if slot.scope is not scope]
        self.frame = Frame(traced=False)

    def can_go_back(self) -> bool:
        """Whether the changes since then can be undone."""
        return self.frame.impure is None and not any(_may_have_effects(op) for op in self.recorded())

    def recorded(self) -> list[Operation]:
        found: list[Operation] = []
        op = self.trace.block.last_op
        while op is not None and op is not self.last:
            found.append(op)
            op = op.prev_op
        functions = self.trace.program.module.body.block.ops  # pyright: ignore[reportOptionalMemberAccess]
        new = list(functions)
        if self.function is not None:
            new = new[new.index(self.function) + 1 :]
        return [*found, *(inner for f in new if isinstance(f, FuncOp) for inner in f.walk())]

    def go_back(self, scope: Scope) -> None:
        """Undo them: the values of variables, writes into objects, and ops."""
        undo(self.frame.writes.values())
        scope.restore(self.values)
        for slot, value in self.shared:
            slot.put(value)
        self.trace.rewind(self.last)
        self.back()


def _may_have_effects(op: Operation) -> bool:
    return isinstance(op, EffectOp) and op.is_effect


# Loops of the program


@dataclass
class _Carried:
    """A variable of a loop: its value before, and which of its leaves the loop carries."""

    slot: Slot
    start: Value
    leaves: list[Any]

    @property
    def arrays(self) -> list[int]:
        return self.start.arrays


class _Rolled:
    """A loop that is traced once. `test`: its condition, or None with `count`, the number of iterations."""

    def __init__(
        self,
        scope: Scope,
        site: Site,
        slots: Sequence[Slot],
        body: Callable[..., Any],
        test: Statements | None,
        count: Any = None,
        size: Size | None = None,
    ):
        self.scope, self.site, self.body, self.test, self.count, self.size = scope, site, body, test, count, size
        self.carried = [_carried(slot) for slot in slots]
        self.runs = False
        self.placed: set[int] = set()
        """Variables that have no value before the loop: zeros stand for it."""
        self.shared = self.aliases()

    def aliases(self) -> list[tuple[Slot, Slot]]:
        """Other places that hold an array which the loop changes in place: they see the change after it."""
        found: list[tuple[Slot, Slot]] = []
        for one in self.carried:
            slot = one.slot
            if not (isinstance(slot, Variable) and slot.name in self.site.in_place and isinstance(one.start.whole, Tracer)):
                continue
            if not one.start.whole.ndim:
                continue
            for other in holders(one.start.whole, slot.scope, slot.name, self.site.live | self.site.read):
                is_own = isinstance(other, Variable) and other.scope is slot.scope
                if isinstance(other, Place) or (is_own and other.name in self.site.read):
                    both = f"{label(slot)} and {label(other)}"
                    text = f"{both} are one array, which the loop in line {self.site.line} changes in place"
                    raise located(TracingError(f"{text}: take .copy() of one of them"))
                if slot.name in self.site.changed or slot.name in self.site.in_place:
                    found.append((slot, other))
        return found

    def run(self, runs: bool) -> None:
        """Record the loop and assign its results to the variables. `runs`: whether it runs at least once."""
        state.flow += 1
        self.runs = runs
        program = staging().program
        assert program is not None
        for _ in range(RETRIES):
            back = program.checkpoint()
            body = self.traced_body()
            if body is not None:
                break
            back()
        else:
            raise located(TracingError(f"the types of what the loop in line {self.site.line} carries do not settle"))
        values = self.record(body)
        for k, one in enumerate(self.carried):
            after = body.after[k]
            if one.start.missing is not None:
                if after.missing is not None and after.missing.reason:
                    one.slot.write(after.missing)
                continue
            arrays = one.arrays
            leaves = list(one.start.leaves)
            for j in arrays:
                value = next(values)
                is_kept = after.leaves[j] is self.arguments[k, j] and k not in self.placed
                leaves[j] = one.start.leaves[j] if is_kept else value
            final = one.start.with_leaves(leaves)
            is_named = isinstance(one.slot, Variable) and "@" not in one.slot.name
            if k in self.placed and is_named and not self.is_definite(one.slot.name, runs):
                final = Missing(_reason(self.site, label(one.slot), one.slot.name), least=_is_too_small(self.size))
            one.slot.write(final)
        for slot, other in self.shared:
            if isinstance(other, Variable):
                record(other)
            other.write(slot.read())

    def is_definite(self, name: str, runs: bool) -> bool:
        return name in self.site.always or (runs and name in self.site.definite)

    # -- the body

    def arguments_of(self, tracers: Sequence[Tracer]) -> None:
        """Assign the initial values of an iteration to the variables."""
        remaining = iter(tracers)
        for k, one in enumerate(self.carried):
            if one.start.missing is not None:
                one.slot.write(self.unread(one))
                continue
            leaves = list(one.start.leaves)
            for j in one.arrays:
                leaves[j] = self.arguments[k, j] = next(remaining)
            assert one.start.structure is not None
            one.slot.write(one.start.structure.unflatten(leaves) if one.arrays else one.start.whole)

    def unread(self, one: _Carried) -> Missing:
        missing = one.start.missing
        if missing is None or missing.reason is not None:
            return missing or UNBOUND
        text = f"{label(one.slot)} is read in the loop in line {self.site.line} before an iteration has assigned it"
        return Missing(None, f"{text}: assign it before the loop")

    def initial(self) -> list[Tracer]:
        return [one.leaves[j] for one in self.carried for j in one.arrays]

    def traced_body(self) -> Block | None:
        """The body, traced; None if something must be carried otherwise."""
        avals = [Aval(x.dtype, x.shape, x.weak) for x in self.initial()]
        self.arguments: dict[tuple[int, int], Tracer] = {}
        before = [one.slot.read() for one in self.carried]
        is_counted = self.test is None

        def statements(*arguments: Tracer) -> None:
            self.arguments_of(arguments[is_counted:])
            self.body(*arguments[:is_counted])

        slots = [one.slot for one in self.carried]
        block = Block([Aval(INT64, (), True)] * is_counted + avals).run(statements, slots)
        for slot, value in zip(slots, before, strict=True):
            slot.put(value)
        if block.raised is not None:
            raise located(TracingError("raise in a loop of the program, outside of any `if` in it: use lm.check"))
        if block.places:
            self.carried += [_carried(place) for place, _ in block.places.values()]
            return None
        settled = True
        for k, (one, after) in enumerate(zip(self.carried, block.after, strict=True)):
            settled &= self.settle(k, one, after, block)
        return block if settled else None

    def settle(self, k: int, one: _Carried, after: Value, block: Block) -> bool:
        """Whether a variable after an iteration is as before it; if it can be made so by another start, that is done."""
        start = one.start
        if start.missing is not None:
            if after.missing is not None:
                return True
            leaves = [zero_like(x) if is_array(x) else x for x in after.leaves]
            assert after.structure is not None
            one.start = value_of(after.structure.unflatten(leaves))
            one.leaves = _lifted(one.start)
            self.placed.add(k)
            return False
        if after.missing is not None:
            if after.missing.reason:
                one.slot.put(UNBOUND)
            raise self.differs(one, after, after.missing.reason or "it is deleted in the loop")
        if start.structure != after.structure:
            raise one.slot.refused() if isinstance(one.slot, Contents) else self.differs(one, after, "keep one type")
        settled = True
        for j, (x, y) in enumerate(zip(start.leaves, after.leaves, strict=True)):
            if not is_array(x):
                if not is_same(x, y):
                    raise self.differs(one, after, "only arrays and numbers can change in a loop of the program")
                continue
            if not is_array(y):
                raise self.differs(one, after, "keep one type")
            settled &= self.settle_leaf(one, j, y, block)
        return settled

    def settle_leaf(self, one: _Carried, j: int, y: Any, block: Block) -> bool:
        x = one.leaves[j]
        with block.trace:
            y = block.trace.lift(y)
        if x.shape != y.shape:
            remedy = "give it the shape that it has after an iteration before the loop" if x.weak else "keep one shape"
            raise self.differs(one, None, remedy, x, y)
        if not self.runs:
            state.reader.require_alike(x, y)
        if x.dtype == y.dtype:
            if x.weak and not y.weak and x.dtype.kind != "b":
                one.leaves[j] = Tracer(x.within, x.value, x.shape, x.dtype, False)
                return False
            return True
        if x.weak and y.dtype.kind in "iufc" and x.dtype.kind in "iufc" and np.can_cast(x.dtype.kind + "8", y.dtype.kind + "8"):
            one.leaves[j] = lifted = lift_as(x, y.dtype)
            if y.weak:
                one.leaves[j] = Tracer(lifted.within, lifted.value, lifted.shape, lifted.dtype, True)
            return False
        if y.weak and x.dtype.kind in "fc" and y.dtype.kind in "iuf":
            return True  # converted
        if y.weak and x.dtype.kind in "iu" and y.dtype.kind in "iu":
            return True
        raise self.differs(one, None, "convert one with .astype", x, y)

    def differs(self, one: _Carried, after: Value | None, remedy: str, x: Any = None, y: Any = None) -> LaminaError:
        a, b = (shown(one.start), shown(after)) if after is not None else (shown_leaf(x), shown_leaf(y))
        line = line_of(self.site.lines, 0, one.slot.name)
        where = (
            f"the loop in line {self.site.line}, whose end only the program knows"
            if self.test
            else f"the loop in line {self.site.line}"
        )
        text = f"{label(one.slot)} is {a} before {where}, and {b} after an iteration ({line}): {remedy}"
        return located(ShapeError(text) if x is not None and x.shape != y.shape else TracingError(text))

    # -- the op

    def record(self, block: Block) -> Any:
        """Add the loop; an iterator over its result for each carried array."""
        trace = staging()
        initial = self.initial()
        out = [
            after.leaves[j]
            for one, after in zip(self.carried, block.after, strict=True)
            if one.start.missing is None
            for j in one.arrays
        ]
        body = block.function("body", out)
        convert_results(body, [x.dtype for x in initial])
        if self.test is None:
            return iter(self.recorded_for(body, initial))
        test = self.traced_test()
        consts = share_captured(trace, [test, body])
        op = WhileOp.make(test.op, body.op, [x.value for x in consts], [x.value for x in initial])
        return iter(results_of(trace, op, [a._replace(weak=x.weak) for a, x in zip(body.out_avals, initial, strict=True)]))

    def recorded_for(self, body: TracedFunction, initial: Sequence[Tracer]) -> list[Tracer]:
        trace = staging()
        captured_first(body, len(body.avals))
        captured = [trace.lift(x) for x in body.captured]
        count = lift_as(self.count, INT64).value if isinstance(self.count, Tracer) else self.count
        op = ForOp.make(body.op, count, [x.value for x in captured], [x.value for x in initial], [])
        trace.builder.insert(op)
        return [Tracer(trace, v, x.shape, x.dtype, x.weak) for v, x in zip(op.results, initial, strict=True)]

    def traced_test(self) -> TracedFunction:
        test = self.test
        assert test is not None
        avals = [Aval(x.dtype, x.shape, x.weak) for x in self.initial()]
        before = [one.slot.read() for one in self.carried]
        kept = dict(self.arguments)

        def statements(*arguments: Tracer) -> Any:
            self.arguments_of(arguments)
            asked = _test(self.scope, self.site, test)
            return asked if isinstance(asked, Tracer) else lnp.asarray(asked)

        block = Block(avals).run(statements, [one.slot for one in self.carried])
        changed = {label(place) for place, _ in block.places.values()} | {
            label(one.slot)
            for k, (one, after) in enumerate(zip(self.carried, block.after, strict=True))
            if one.start.missing is None and any(after.leaves[j] is not self.arguments[k, j] for j in one.arrays)
        }
        if changed:  # the loop does not carry it out of its condition
            raise changed_by_condition(self.site, changed)
        self.arguments = kept
        for one, value in zip(self.carried, before, strict=True):
            one.slot.put(value)
        return block.function("going", [block.result])


def _carried(slot: Any) -> _Carried:
    start = value_of(slot.read())
    return _Carried(slot, start, _lifted(start))


def _lifted(value: Value) -> list[Any]:
    trace = staging()
    return [trace.lift(x) if is_array(x) else x for x in value.leaves]
