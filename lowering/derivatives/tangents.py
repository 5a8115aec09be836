"""Forward mode: a kernel that computes, beside each value that changes with its differentiated parameters, its tangent.

    for i: y[i] = x[i] * x[i]       ->       for i: y[i] = x[i] * x[i];  dy[i] = dx[i] * x[i] + dx[i] * x[i]

A buffer gets a second one for tangents, a carried value a second one beside it, and every store a second store. Control is that
of the kernel: branches and loops that depend on data run as they do there.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.loop.parameters import Parameter, parameters_of
from ...dialects.operations import append
from ..analysis.affine import forms
from ..analysis.nests import unique_names, walk
from .activity import active_values, refusal
from .copies import NewParameter, copy, derived_kernel, load, store
from .slopes import CONVERSIONS, Slope, SlopeBuilder, slopes_of


def tangent_kernel(kernel: KernelOp, name: str, wrt: Sequence[int]) -> tuple[KernelOp, list[int]]:
    """The kernel of values and tangents.

    Args:
        wrt: the numbers of the parameters that have tangents: floats that it reads.

    Returns:
        The kernel, which has its parameters, and after them one for each tangent; and the numbers of the parameters that have
        one: these, and arrays that change with them.

    Raises:
        DifferentiationError: an op on the way has no derivative.
    """
    parameters = parameters_of(kernel)
    active = active_values(kernel, [parameters[k].argument for k in wrt])
    with_tangents = [k for k, p in enumerate(parameters) if p.argument in active]
    new = [NewParameter(p.name, p.argument) for p in parameters]
    new += [NewParameter(f"d{parameters[k].name}", parameters[k].argument) for k in with_tangents]
    made, arguments = derived_kernel(kernel, name, new)
    writer = _Tangents(active)
    _bind(writer, kernel, parameters, arguments)
    for k, argument in zip(with_tangents, arguments[len(parameters) :], strict=False):
        writer.tangents[parameters[k].argument] = argument
    writer.block(kernel.body.block, made.body.block)
    if kernel.may_reassociate:
        made.let_reassociate()
    unique_names(made)
    return made, with_tangents


def _bind(writer: _Tangents, kernel: KernelOp, parameters: Sequence[Parameter], arguments: Sequence[SSAValue]) -> None:
    for p, argument in zip(parameters, arguments, strict=False):
        writer.values[p.argument] = argument
    symbols = kernel.index_arguments
    writer.values.update(zip(symbols, arguments[len(arguments) - len(symbols) :], strict=True))


class _Tangents:
    """Copies ops, and writes those of tangents after them."""

    def __init__(self, active: set[SSAValue]):
        self.active = active
        self.values: dict[SSAValue, SSAValue] = {}
        self.tangents: dict[SSAValue, SSAValue] = {}

    def block(self, old: Block, new: Block) -> None:
        for op in old.ops:
            if not isinstance(op, YieldOp):
                self.op(op, new)

    def tangent(self, value: SSAValue, b: SlopeBuilder) -> SSAValue:
        """The tangent of a value; zero if it does not change."""
        found = self.tangents.get(value)
        return b.const(0.0, value.type) if found is None else found

    def op(self, op: Operation, block: Block) -> None:
        b = SlopeBuilder(block, op.location)
        if isinstance(op, ForOp) and any(value in self.active for value in op.results) and op.kind.data == "reduce":
            self._reduction(op, b)
        elif isinstance(op, ForOp):
            self._loop(op, b)
        elif isinstance(op, WhileOp):
            self._while(op, b)
        elif isinstance(op, IfOp):
            self._if(op, b)
        else:
            copy(op, self.values, block)
            self._plain(op, b)

    def _plain(self, op: Operation, b: SlopeBuilder) -> None:
        if isinstance(op, StoreOp):
            if op.buffer in self.active:
                at = forms(op.map.data, [self.values.get(v, v) for v in op.indices])
                store(b, self.tangent(op.value, b), self.tangents[op.buffer], at)
        elif isinstance(op, LoadOp):
            if op.value in self.active:
                at = forms(op.map.data, [self.values.get(v, v) for v in op.indices])
                self.tangents[op.value] = load(b, self.tangents[op.buffer], at)
        elif isinstance(op, AllocOp):
            if op.buffer in self.active:
                self.tangents[op.buffer] = _shadow(op, self.values, b)
        elif op.results and op.results[0] in self.active:
            self._arithmetic(op, b)

    def _arithmetic(self, op: Operation, b: SlopeBuilder) -> None:
        xs, result = [self.values[x] for x in op.operands], self.values[op.results[0]]
        total: SSAValue | None = None
        for x, slope in zip(op.operands, slopes_of(op), strict=True):
            if slope is None or (tangent := self.tangents.get(x)) is None:
                continue
            part = self._through(op, slope, b, tangent, xs, result)
            total = part if total is None else b.add(total, part)
        assert total is not None
        self.tangents[op.results[0]] = total

    def _through(
        self, op: Operation, slope: Slope, b: SlopeBuilder, tangent: SSAValue, xs: Sequence[SSAValue], result: SSAValue
    ) -> SSAValue:
        if isinstance(op, CONVERSIONS):
            return b.convert(tangent, op.results[0].type)
        return slope.through(b, tangent, xs, result)

    # -- control

    def _inits(self, op: ForOp | WhileOp, b: SlopeBuilder) -> tuple[list[SSAValue], list[int]]:
        """The initial values, then tangents; the numbers of the results that have one."""
        changing = [k for k, result in enumerate(op.results) if result in self.active]
        return [*(self.values[v] for v in op.inits), *(self.tangent(op.inits[k], b) for k in changing)], changing

    def _results(self, op: Operation, new: Operation, changing: Sequence[int]) -> None:
        count = len(op.results)
        for a, c in zip(op.results, new.results, strict=False):
            self.values[a] = c
            c.name_hint = a.name_hint
        for k, tangent in zip(changing, new.results[count:], strict=True):
            self.tangents[op.results[k]] = tangent

    def _bounds(self, op: ForOp) -> tuple[tuple[object, list[SSAValue]], tuple[object, list[SSAValue]]]:
        lows, highs = ([self.values.get(v, v) for v in part] for part in (op.lower_operands, op.upper_operands))
        return (op.lower.data, lows), (op.upper.data, highs)

    def _body(self, op: ForOp, block: Block, arguments: Sequence[SSAValue], changing: Sequence[int]) -> list[SSAValue]:
        """The ops of a body; the values it yields, then their tangents."""
        old = op.body.block
        carried = len(old.args) - 1
        self.values.update(zip(old.args, arguments[: 1 + carried], strict=True))
        for k, tangent in zip(changing, arguments[1 + carried :], strict=False):
            self.tangents[old.args[1 + k]] = tangent
        self.block(old, block)
        b = SlopeBuilder(block, op.location)
        return [*(self.values[v] for v in op.yielded), *(self.tangent(op.yielded[k], b) for k in changing)]

    def _loop(self, op: ForOp, b: SlopeBuilder) -> None:
        inits, changing = self._inits(op, b)
        lower, upper = self._bounds(op)
        monoid = None if op.monoid is None else op.monoid.data
        new = ForOp.build_loop(
            lower,  # pyright: ignore[reportArgumentType]
            upper,  # pyright: ignore[reportArgumentType]
            step=op.step.value.data,
            kind=op.kind.data,
            monoid=monoid,
            inits=inits,
            name=op.index.name_hint,
        )
        new.location = op.location
        found = self._body(op, new.body.block, new.body.block.args, changing)
        _end(new.body.block, found)
        b.insert_op(new)
        self._results(op, new, changing)

    def _reduction(self, op: ForOp, b: SlopeBuilder) -> None:
        assert op.monoid is not None
        monoid = op.monoid.data
        if monoid == "add":
            self._loop(op, b)
        elif monoid in ("max", "min") and len(op.results) == 1 and _is_pure(op):
            self._extreme(op, b)
        elif monoid in ("max", "min", "mul"):
            self._in_order(op, monoid, b)
        else:
            raise refusal(op, f"a reduction by {monoid} has no derivative")

    def _extreme(self, op: ForOp, b: SlopeBuilder) -> None:
        """The tangent of a maximum is the average of those of the elements that attain it."""
        copied = copy(op, self.values, b.block)
        extreme, init, tangent = copied.results[0], op.inits[0], self.tangents.get(op.inits[0])
        zero, one = (b.const(float(k), extreme.type) for k in range(2))
        attained = b.cmp("eq", self.values[init], extreme)
        inits = [b.select(attained, one, zero), zero if tangent is None else b.select(attained, tangent, zero)]
        lower, upper = self._bounds(op)
        new = ForOp.build_loop(lower, upper, step=op.step.value.data, kind="reduce", monoid="add", inits=inits)  # pyright: ignore[reportArgumentType]
        new.index.name_hint, new.location = op.index.name_hint, op.location
        kept = dict(self.values)
        value, change = self._body(op, new.body.block, new.body.block.args, [0])
        inner = SlopeBuilder(new.body.block, op.location)
        here = inner.cmp("eq", value, extreme)
        zeros = inner.const(0.0, extreme.type)
        _end(new.body.block, [inner.select(here, inner.const(1.0, extreme.type), zeros), inner.select(here, change, zeros)])
        b.insert_op(new)
        self.values = kept
        self.values[op.results[0]] = extreme
        self.tangents[op.results[0]] = b.div(new.results[1], new.results[0])

    def _in_order(self, op: ForOp, monoid: str, b: SlopeBuilder) -> None:
        """A loop that carries the value and its tangent."""
        inits, changing = self._inits(op, b)
        lower, upper = self._bounds(op)
        new = ForOp.build_loop(lower, upper, step=op.step.value.data, inits=inits, name=op.index.name_hint)  # pyright: ignore[reportArgumentType]
        new.location = op.location
        block = new.body.block
        found = self._body(op, block, block.args[:1], changing)
        inner, count = SlopeBuilder(block, op.location), len(op.results)
        values = [inner.combine(monoid, x, y) for x, y in zip(block.args[1:], found[:count], strict=False)]
        tangents: list[SSAValue] = []
        for n, k in enumerate(changing):
            xs = (block.args[1 + k], found[k])
            slopes = slopes_of(values[k].owner)  # pyright: ignore[reportArgumentType]
            parts = zip(slopes, (block.args[1 + count + n], found[count + n]), strict=True)
            one, two = (s.through(inner, d, xs, values[k]) for s, d in parts if s is not None)
            tangents.append(inner.add(one, two))
        _end(block, [*values, *tangents])
        b.insert_op(new)
        self._results(op, new, changing)

    def _while(self, op: WhileOp, b: SlopeBuilder) -> None:
        inits, changing = self._inits(op, b)
        names = [argument.name_hint for argument in op.body.block.args]
        new = WhileOp.build_loop(self.values[op.condition], inits, names)
        new.location = op.location
        old, block = op.body.block, new.body.block
        self.values.update(zip(old.args, block.args, strict=False))
        for k, tangent in zip(changing, block.args[len(old.args) :], strict=True):
            self.tangents[old.args[k]] = tangent
        self.block(old, block)
        inner = SlopeBuilder(block, op.location)
        tangents = [self.tangent(op.yielded[1 + k], inner) for k in changing]
        _end(block, [*(self.values[v] for v in op.yielded), *tangents])
        b.insert_op(new)
        self._results(op, new, changing)

    def _if(self, op: IfOp, b: SlopeBuilder) -> None:
        changing = [k for k, result in enumerate(op.results) if result in self.active]
        regions: list[Region] = []
        for region in (op.then, op.otherwise):
            if not region.blocks:
                regions.append(Region())
                continue
            block = Block()
            self.block(region.blocks[0], block)
            inner, last = SlopeBuilder(block, op.location), region.blocks[0].last_op
            yielded = last.operands if isinstance(last, YieldOp) else ()
            found = [self.values[v] for v in yielded]
            _end(block, [*found, *(self.tangent(yielded[k], inner) for k in changing)])
            regions.append(Region(block))
        types = [*(r.type for r in op.results), *(op.results[k].type for k in changing)]
        new = IfOp.create(operands=[self.values[op.condition]], result_types=types, regions=regions)
        new.location = op.location
        b.insert_op(new)
        self._results(op, new, changing)


def _shadow(op: AllocOp, values: dict[SSAValue, SSAValue], b: SlopeBuilder) -> SSAValue:
    """The buffer of tangents for a local one."""
    new = AllocOp.build_alloc(
        op.space.data, op.buffer.type, [values[v] for v in op.sizes], f"d{op.buffer.name_hint or 'local'}"
    )
    b.insert_op(new)
    return new.buffer


def _is_pure(op: Operation) -> bool:
    """Whether nothing in an op writes memory, so that it may be computed once more."""
    return not any(isinstance(inner, StoreOp | AllocOp | WhileOp) for inner in walk(op))


def _end(block: Block, values: Sequence[SSAValue]) -> None:
    append(block, YieldOp.create(operands=list(values)))
