"""`if`, ternaries, `and`, `or` and `not`: run by Python where the condition is known, otherwise ops that select."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....dialects.graph.conditional import CaseOp
from ....dialects.graph.effects import EffectOp
from ....dialects.sizes.polynomial import Size
from ....errors import LaminaError, TracingError
from ...functions.conditional import common_dtype, results_of, share_captured
from ...functions.control import convert_results
from ...trace.array_functions import arrays as lnp
from ...trace.locations import located, user_place
from ...trace.program import staging
from ...trace.tracer import Tracer
from .blocks import (
    Block,
    RaisedError,
    Value,
    equal,
    is_array,
    is_object,
    is_same,
    label,
    line_of,
    scalar,
    shown,
    shown_leaf,
    slots_of,
    value_of,
    zero_like,
)
from .helper_sites import Site
from .messages import check_unless
from .session import UNBOUND, Contents, Held, Missing, Place, Scope, Slot, frame, shared_slots, state, undo
from .sizes import known as known_size

Statements = Callable[[], Any]


def if_(scope: Scope, site: Site, test: Any, then: Statements, otherwise: Statements) -> None:
    """`if test: then() else: otherwise()`."""
    test = known_size(test)
    if not isinstance(test, Tracer):
        (then if test else otherwise)()
        return
    choose(scope, slots_of(scope, site), site, scalar(test, "the condition"), then, otherwise)


def known(test: Any) -> bool:
    """The condition of a statement in which a generator yields.

    Raises:
        TracingError: it is traced.
    """
    if isinstance(test := known_size(test), Tracer):
        text = "a traced value decides how many items a generator gives"
        raise located(TracingError(f"{text}: end both paths of the `if` with one `yield`, or fill an array in a loop"))
    return bool(test)


def choose(
    scope: Scope | None, slots: Sequence[Slot], site: Site, test: Tracer, then: Statements, otherwise: Statements
) -> None:
    """Run one of two blocks, as a traced condition says; the variables get its values."""
    state.flow += 1
    before = [slot.read() for slot in slots]
    values = {} if scope is None else scope.values()

    def back() -> None:
        for slot, value in zip(slots, before, strict=True):
            slot.put(value)
        if scope is not None:
            scope.restore(values)

    def traced(statements: Statements) -> Block:
        block = Block().run(statements, slots)
        back()
        return block

    blocks = traced(then), traced(otherwise)
    if any(block.raised for block in blocks):
        _raise_unless(back, blocks, test, (then, otherwise))
        return
    _merge(slots, [value_of(x) for x in before], site, blocks, test)


def _raise_unless(back: Statements, blocks: Sequence[Block], test: Tracer, statements: Sequence[Statements]) -> None:
    """A branch that raises is a check; the other one runs if the check holds."""
    for block, run, holds in zip(blocks, statements, (lnp.logical_not(test), test), strict=True):
        if block.raised is None:
            continue
        if any(isinstance(op, EffectOp) for op in block.trace.block.ops):
            raise located(TracingError("a branch that raises prints or checks first: raise at once, or use lm.check"))
        check_unless(holds, _raised_here(run))
        back()
    for block, run in zip(blocks, statements, strict=True):
        if block.raised is None:
            run()


def _raised_here(statements: Statements) -> BaseException:
    """The error of a branch, with the values of the current trace."""
    with frame(traced=True) as kept:
        try:
            statements()
        except RaisedError as error:
            return error.error
        finally:
            undo(kept.writes.values())
    raise AssertionError("the branch raised before")


def _merge(slots: Sequence[Slot], before: Sequence[Value], site: Site, blocks: tuple[Block, Block], test: Tracer) -> None:
    then, otherwise = blocks
    rows: list[tuple[Slot, Value, Value]] = list(zip(slots, then.after, otherwise.after, strict=True))
    places = {**then.places, **otherwise.places}
    for place, _ in places.values():
        if isinstance(place, Place) and Contents(place.owner).key_of_write in places:
            continue  # an item of a list that is chosen as a whole
        rows.append((place, then.value_at(place), otherwise.value_at(place)))
    merged = [_Merged(slot, site, a, b, blocks) for slot, a, b in rows]
    pairs = [pair for one in merged for pair in one.pairs]
    results = iter(_chosen(test, blocks, pairs, [(one, k) for one in merged for k in range(len(one.pairs))]))
    for one in merged:
        one.write(results)


class _Merged:
    """A variable after a branch. `pairs`: the leaves of the two blocks, of which one is selected at run time."""

    def __init__(self, slot: Slot, site: Site, a: Value, b: Value, blocks: tuple[Block, Block]):
        self.slot, self.site, self.a, self.b = slot, site, a, b
        self.final: Any = UNBOUND
        self.pairs: list[tuple[Any, Any]] = []
        self.places: list[int] = []
        if a.whole is b.whole and isinstance(a.whole, list | dict):
            self.final, self.model = a.whole, None  # values that are assigned in it are selected separately
            return
        if equal(a, b):
            self.final, self.model = (a.missing if a.missing is not None else a.whole), None
            return
        if a.missing is not None or b.missing is not None:
            self.one_sided(blocks)
            return
        if a.structure != b.structure:
            raise self.mismatch(shown(a), shown(b))
        self.model = a
        for k, (x, y) in enumerate(zip(a.leaves, b.leaves, strict=True)):
            if is_same(x, y):
                continue
            if not (is_array(x) and is_array(y)):
                raise self.mismatch(shown_leaf(x), shown_leaf(y))
            state.reader.require_alike(x, y)
            self.pairs.append((x, y))
            self.places.append(k)

    def one_sided(self, blocks: tuple[Block, Block]) -> None:
        """A variable that one block binds: guards, after which nobody reads it, keep its type."""
        missing = next(v.missing for v in (self.a, self.b) if v.missing is not None)
        value, is_second = (self.b, True) if self.a.missing is not None else (self.a, False)
        self.model = None
        is_quiet = (
            self.site.guard or self.slot.name in self.site.quiet or (not isinstance(self.slot, Place) and "@" in self.slot.name)
        )
        if missing.reason is not None or value.missing is not None or not is_quiet:
            self.final = Missing(missing.reason or (value.missing and value.missing.reason) or self.reason(is_second))
            return
        self.model = value
        for k in value.arrays:
            with blocks[not is_second].trace:
                zero = zero_like(value.leaves[k])
            self.pairs.append((zero, value.leaves[k]) if is_second else (value.leaves[k], zero))
            self.places.append(k)

    def reason(self, is_second: bool) -> str:
        where = line_of(self.site.lines, is_second, self.slot.name)
        text = f"{label(self.slot)} is assigned on one path only ({where}) of the `if` in line {self.site.line}"
        return f"{text}, which a traced value chooses: assign it before, or on both paths"

    def mismatch(self, a: str, b: str) -> LaminaError:
        if isinstance(self.slot, Contents):
            return self.slot.refused()
        names = [line_of(self.site.lines, k, self.slot.name) for k in (0, 1)]
        chosen = f"the `if` in line {self.site.line}, which a traced value chooses"
        remedy = "give both paths one type"
        if "None" in (a, b):
            remedy = "return a value on every path" if label(self.slot) == "the result" else "use an array on both paths"
        if type(self.a.whole) is type(self.b.whole) and is_object(self.a.whole):
            remedy = "make the object on both paths, or its class a frozen dataclass or a pytree (lm.register_dataclass)"
        text = f"{label(self.slot)} is {a} on one path ({names[0]}) and {b} on the other ({names[1]}) of {chosen}: {remedy}"
        return located(TracingError(text))

    def write(self, results: Any) -> None:
        if self.model is None:
            self.slot.write(self.final)
            return
        leaves = list(self.model.leaves)
        for k in self.places:
            leaves[k] = next(results)
        final = self.model.with_leaves(leaves)
        if isinstance(self.slot, Contents):  # items that are one object on both paths stay that object
            rows = zip(final, self.a.whole, self.b.whole, strict=True)
            final = [x if x is y and isinstance(x, list | dict) else new for new, x, y in rows]
        self.slot.write(final)


def _chosen(test: Tracer, blocks: tuple[Block, Block], pairs: Sequence[tuple[Any, Any]], owners: Sequence[Any]) -> list[Tracer]:
    """One of each pair, as the condition says."""
    trace = staging()
    if not pairs and not any(_has_effects(block) for block in blocks):
        return []
    functions = [
        block.function(name, [p[k] for p in pairs])
        for k, (name, block) in enumerate(zip(("then", "else"), blocks, strict=True))
    ]
    dtypes = [common_dtype([f.out_avals[k] for f in functions]) for k in range(len(pairs))]
    for function in functions:
        convert_results(function, dtypes)
    for k, (one, _) in enumerate(owners):
        a, b = (f.out_avals[k] for f in functions)
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise one.mismatch(*(shown_leaf(leaf) for leaf in pairs[k]))
    functions.reverse()  # false, true
    consts = share_captured(trace, functions)
    op = CaseOp.make(trace.lift(test).value, [f.op for f in functions], [x.value for x in consts])
    avals = [a._replace(weak=all(f.out_avals[k].weak for f in functions)) for k, a in enumerate(functions[0].out_avals)]
    return results_of(trace, op, avals)


def _has_effects(block: Block) -> bool:
    return any(
        isinstance(op, EffectOp) or "callee" in op.properties or "branches" in op.properties for op in block.trace.block.ops
    )


# Expressions


def ternary(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """`then() if test else otherwise()`."""
    test = known_size(test)
    if not isinstance(test, Tracer):
        return then() if test else otherwise()
    return _expression(test, then, otherwise)


def _expression(test: Tracer, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    result = Held("value")
    place = user_place()
    line = place[1] if place else 0
    site = Site(line, ("value",), frozenset(), ({"value": line}, {"value": line}), frozenset())

    def storing(thunk: Callable[[], Any]) -> Statements:
        return lambda: result.write(thunk())

    choose(None, [result, *shared_slots()], site, scalar(test, "the condition"), storing(then), storing(otherwise))
    return result.value


def and_(together: bool, is_test: bool, first: Any, *rest: Callable[[], Any]) -> Any:
    """`first and rest[0]() and ...`. `together`: whether operands may be computed whatever those before are; `is_test`: whether
    only the truth of the result is needed."""
    return _logical(lnp.logical_and, False, together, is_test, first, rest)


def or_(together: bool, is_test: bool, first: Any, *rest: Callable[[], Any]) -> Any:
    """`first or rest[0]() or ...`."""
    return _logical(lnp.logical_or, True, together, is_test, first, rest)


def _logical(function: Any, ends: bool, together: bool, is_test: bool, first: Any, rest: Sequence[Callable[[], Any]]) -> Any:
    for k, thunk in enumerate(rest):
        asked = known_size(first)
        if not isinstance(asked, Tracer):
            if bool(asked) is ends:
                return first
            first = thunk()
            continue
        first = _flag(asked, is_test)
        if together and first.dtype.kind == "b":
            second = _flag(thunk(), is_test)
            if isinstance(second, bool | np.bool_) or (isinstance(second, Tracer) and second.dtype.kind == "b"):
                first = function(scalar(first, "the condition"), scalar(lnp.asarray(second), "the condition"))
                continue

        def others(thunk: Callable[[], Any] = thunk, left: Sequence[Callable[[], Any]] = rest[k + 1 :]) -> Any:
            return _flag(_logical(function, ends, together, is_test, thunk(), left), is_test)

        def given(value: Any = first) -> Any:
            return value

        return _expression(first, given, others) if ends else _expression(first, others, given)
    return first


def _flag(x: Any, is_test: bool) -> Any:
    """The value needed of an operand: itself, or its truth alone."""
    if not is_test:
        return x
    x = known_size(x)
    return scalar(x, "the condition") if isinstance(x, Tracer) else bool(x)


def not_(x: Any) -> Any:
    """`not x`."""
    x = known_size(x)
    return lnp.logical_not(scalar(x, "the operand of `not`")) if isinstance(x, Tracer) else not x


def going(*flags: Any) -> Any:
    """Whether no flag is set."""
    found: Any = False
    for flag in flags:
        if isinstance(flag, Missing):
            continue
        if isinstance(flag, Tracer):
            found = lnp.logical_or(found, flag) if isinstance(found, Tracer) else flag
        elif flag:
            return False
    return lnp.logical_not(found) if isinstance(found, Tracer) else True


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda a, b: contains(b, a),
    "NotIn": lambda a, b: not_(contains(b, a)),
}


def compare(together: bool, first: Any, *rest: tuple[str, Callable[[], Any]]) -> Any:
    """`first < b < c` and the like: each operand is computed once, and only while the result is open; if `together`, whatever
    those before are."""
    (name, thunk), *others = rest
    second = thunk()
    found = _COMPARISONS[name](first, second)
    if not others or not (isinstance(found, Tracer) or found):
        return found
    if not isinstance(found, Tracer):
        return compare(together, second, *others)
    if together:
        return lnp.logical_and(found, compare(together, second, *others))
    return _expression(found, lambda: _flag(compare(together, second, *others), True), lambda: False)


def contains(items: Any, x: Any) -> Any:
    """`x in items`."""
    if isinstance(items, Tracer):
        return lnp.any(lnp.equal(items, x))
    if isinstance(items, list | tuple | range | set | frozenset) and (
        isinstance(x, Tracer | Size) or (not isinstance(items, range) and any(isinstance(y, Tracer | Size) for y in items))
    ):
        found: Any = False
        for y in items:
            same = y == x
            found = lnp.logical_or(found, same) if isinstance(found, Tracer) or isinstance(same, Tracer) else found or same
        return found
    return x in items
