"""`custom_jvp`, `custom_vjp` and `custom_gradient`: functions with derivative rules that their author writes.

A call inside n differentiating transformations becomes a `graph.custom_derivative`, whose rules are traced as inside n - 1 of
them: rules may call their own function, and pass it other functions, and the recursion ends. A call that is not differentiated
is a plain call.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import AnyFloat, ComplexType, TensorType
from xdsl.ir import BlockArgument, OpResult, SSAValue

from ...dialects.graph.custom import CustomDerivativeOp
from ...dialects.types import element_of
from ...errors import DifferentiationError, LaminaError
from ..trace.filling import filled
from ..trace.locations import located
from ..trace.program import Aval, Program, TracedFunction, abstract, is_staging, staging, trace_function
from ..trace.promotion import is_inexact_dtype
from ..trace.pytree import TreeDef, flatten
from ..trace.tracer import Tracer
from ..trace.tracing import Trace, lift
from .autodiff import function_name, like
from .conditional import share_captured

__all__ = ["custom_gradient", "custom_jvp", "custom_vjp"]

_NUMBERS = (bool, int, float, complex)
_UNKNOWN = "which a rule for a derivative does not know while tracing"


@dataclass
class _Arguments:
    """The arguments of a call by position: leaves to differentiate by, and arguments that are passed on unchanged."""

    fixed: list[tuple[int, Any]]
    leaves: list[Any]
    structure: TreeDef

    def unflatten(self, leaves: Sequence[Any]) -> list[Any]:
        """All arguments, with other leaves."""
        args = list(self.structure.unflatten(leaves))
        for position, value in self.fixed:
            args.insert(position, value)
        return args


class CustomDerivative(ABC):
    """Base of functions with rules. Outside of a trace they are the plain function."""

    DEFINE = ""
    IN_REVERSE = False
    """Whether there are rules for reverse mode: the tangent part of a forward rule is then transposed."""

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()):
        self.fun, self.nondiff_argnums = fun, tuple(nondiff_argnums)
        functools.update_wrapper(self, fun)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_staging() or self.levels() <= 0:
            return self.fun(*args, **kwargs)
        if not self.is_defined:
            raise AttributeError(f"{function_name(self.fun)} has no rule for its derivative: give it one by {self.DEFINE}")
        try:
            return self._called(self._bound(args, kwargs))
        except LaminaError as error:
            raise located(error) from None

    @property
    @abstractmethod
    def is_defined(self) -> bool:
        """Whether the rules are there."""

    def levels(self) -> int:
        """How many transformations differentiate a call, here and now."""
        trace = staging()
        return trace.derivatives + (trace.transposed if self.IN_REVERSE else 0)

    @abstractmethod
    def rules(self, function: TracedFunction, args: _Arguments, tracers: Sequence[Tracer]) -> list[TracedFunction]:
        """Trace the rules."""

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Arguments:
        if kwargs:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
            if bound.kwargs:
                raise TypeError(f"{function_name(self.fun)} has rules for its derivative: arguments are given by position")
        count = len(args)
        fixed = sorted(k % count for k in self.nondiff_argnums if -count <= k < count)
        leaves, structure = flatten(tuple([x for k, x in enumerate(args) if k not in fixed]))
        return _Arguments([(k, args[k]) for k in fixed], leaves, structure)

    def _called(self, args: _Arguments) -> Any:
        trace = staging()
        assert trace.program is not None
        tracers = [trace.lift(leaf) for leaf in args.leaves]
        avals = [abstract(t) for t in tracers]
        name = function_name(self.fun)
        function = trace_function(
            trace.program,
            lambda *xs: self.fun(*args.unflatten(xs)),
            _flat(len(avals)),
            avals,
            name=name,
            known=tracers,
            derivatives=-trace.derivatives,  # its ops are never differentiated: the rules are
        )
        rules = self.rules(function, args, tracers)
        consts = share_captured(trace, [function, *rules])
        types = function.op.function_type.outputs.data
        names = [rule.name for rule in rules]
        op = CustomDerivativeOp.make(
            function.name, names, [x.value for x in consts], [x.value for x in tracers], types, in_rule=trace.in_rule
        )
        trace.builder.insert(op)
        results = [Tracer(trace, v, a.shape, a.dtype, a.weak) for v, a in zip(op.results, function.out_avals, strict=True)]
        return function.out_structure.unflatten(results)


def _flat(count: int) -> TreeDef:
    return flatten(((0,) * count, {}))[1]


def _like_results(value: Any, function: TracedFunction, what: str) -> list[Tracer]:
    """The leaves of a value or tangent that a rule returns, which must be as those of the function."""
    return like(value, function.out_structure, function.out_avals, what)


def _inexact(avals: Sequence[Aval]) -> list[int]:
    return [k for k, aval in enumerate(avals) if is_inexact_dtype(aval.dtype)]


def _trace_rule(
    custom: CustomDerivative,
    rule: Callable[..., Any],
    kind: str,
    avals: Sequence[Aval],
    known: Sequence[Any],
    *,
    inner: bool = False,
    transposed: int = 0,
    reverse: bool = True,
) -> TracedFunction:
    """Trace a rule: what one transformation less differentiates, or as many where it stands inside of another rule.

    `transposed` says that reverse mode transposes what the rule does with tangents, `reverse` that it is one of reverse mode.
    """
    trace = staging()
    program = trace.program
    assert isinstance(program, Program)

    def traced(*xs: Any) -> Any:
        current = staging()
        current.transposed, current.in_rule, current.is_rule = transposed, current.in_rule or reverse, True
        return rule(*xs)

    filled_up = [*known, *(_UNKNOWN for _ in range(len(avals) - len(known)))]
    levels = 0 if inner else custom.levels() - trace.derivatives - 1
    name = f"{function_name(custom.fun)}_{kind}"
    return trace_function(program, traced, _flat(len(avals)), avals, name=name, known=filled_up, derivatives=levels)


class custom_jvp(CustomDerivative):
    """A function with a derivative of its own, in forward mode; reverse mode is the transpose of the same rule.

    Args:
        fun: a function of trees of arrays.
        nondiff_argnums: positions of arguments that are passed on as they are, functions among them. A rule takes them first.

    `@f.defjvp` makes a rule of `rule(primals, tangents) -> (value, tangent)`, two tuples with one entry an argument; what it
    returns must be linear in the tangents. `f.defjvps(rule0, None, ...)` gives one rule `rule_k(tangent, value, *primals)` an
    argument, None for zero. As `jax.custom_jvp`.

    >>> import numpy as np, lamina as lm
    >>> @lm.custom_jvp
    ... def log1pexp(x):
    ...     return lm.numpy.log(1 + lm.numpy.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + lm.numpy.exp(x))) * dx
    >>> lm.grad(log1pexp)(np.float32(100))
    array(1., dtype=float32)
    """

    DEFINE = ".defjvp or .defjvps"
    _rule: Callable[..., Any] | None = None
    _are_zero: Sequence[bool] = ()
    """For each argument of the call whose rule is traced, whether it has no tangent."""

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule. Zero tangents are arrays of zeros, with `symbolic_zeros` too, which cost nothing once compiled."""
        self._rule = jvp
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule, from one for each argument."""
        if self.nondiff_argnums:
            raise TypeError("defjvps does not go with nondiff_argnums: use defjvp")

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
            are_zero, value = self._are_zero, self(*primals)  # in this order: the call may trace its own rules
            total: Any = None
            for one, tangent, is_zero in zip(jvps, tangents, are_zero, strict=True):
                if one is not None and not is_zero:
                    term = one(tangent, value, *primals)
                    total = term if total is None else _added(total, term)
            return value, _zeros(value) if total is None else total

        self._rule = rule

    @property
    def is_defined(self) -> bool:
        return self._rule is not None

    def rules(
        self,
        function: TracedFunction,
        args: _Arguments,
        tracers: Sequence[Tracer],
        by: CustomDerivative | None = None,
    ) -> list[TracedFunction]:
        name, rule = function_name(self.fun), self._rule
        assert rule is not None
        avals = function.avals
        floats, n = _inexact(avals), len(avals)
        are_zero = _without_tangents(args, tracers)

        def traced(*xs: Any) -> Any:
            changes = dict(zip(floats, xs[n:], strict=True))
            tangents = [changes[k] if k in changes else filled(0, a.shape, a.dtype) for k, a in enumerate(avals)]
            given = args.structure.unflatten(xs[:n]), args.structure.unflatten(tangents)
            self._are_zero = are_zero
            returned = rule(*(x for _, x in args.fixed), *given)
            if not isinstance(returned, tuple | list) or len(returned) != 2:
                raise DifferentiationError(f"the jvp rule of {name} must return a pair (value, tangent), got {returned!r:.60}")
            value = _like_results(returned[0], function, f"what the jvp rule of {name} returns first, its value,")
            moved = _like_results(returned[1], function, f"what the jvp rule of {name} returns second, its tangent,")
            return (*value, *(moved[k] for k in _inexact(function.out_avals)))

        strong = [avals[k]._replace(weak=False) for k in floats]
        return [_trace_rule(by or self, traced, "jvp", [*avals, *strong], tracers, transposed=int(by is None), reverse=False)]


def _without_tangents(args: _Arguments, tracers: Sequence[Tracer]) -> list[bool]:
    """Which arguments no transformation changes that differentiates the call: the rules by them need not be traced."""
    levels, ends = [changed_by(x) for x in tracers], 0
    found = []
    for structure in args.structure.children:
        ends += structure.num_leaves
        found.append(all(level < 1 for level in levels[ends - structure.num_leaves : ends]))
    return found


def _added(a: Any, b: Any) -> Any:
    leaves, structure = flatten(a)
    return structure.unflatten([x + y for x, y in zip(leaves, flatten(b)[0], strict=True)])


def _zeros(tree: Any) -> Any:
    leaves, structure = flatten(tree)
    return structure.unflatten([filled(0, x.shape, x.dtype) for x in map(lift, leaves)])


class custom_vjp(CustomDerivative):
    """A function with a derivative of its own, in reverse mode.

    Args:
        fun: a function of trees of arrays.
        nondiff_argnums: positions of arguments that are passed on as they are, functions among them.

    `f.defvjp(forward, reverse)`: `forward` takes what `fun` takes and returns `(value, residuals)`, of which Python's numbers
    stay numbers; `reverse(residuals, cotangent)` returns a tuple with a gradient an argument, None for zero; it takes arguments
    of `nondiff_argnums` first. The function has no derivative in forward mode; `lm.hessian` and the like differentiate
    `forward` and `reverse`. As `jax.custom_vjp`.

    >>> import numpy as np, lamina as lm
    >>> @lm.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, g: (lm.numpy.clip(g, -1, 1),))
    >>> lm.grad(lambda x: (clipped(x) * 5).sum())(np.zeros(2, np.float32))
    array([1., 1.], dtype=float32)
    """

    DEFINE = ".defvjp"
    IN_REVERSE = True
    _forward: Callable[..., Any] | None = None
    _reverse: Callable[..., Any]
    _is_symbolic = False

    def defvjp(
        self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False, optimize_remat: bool = False
    ) -> None:
        """Set the rules.

        With `symbolic_zeros` the leaves of the arguments of `fwd` are `CustomVJPPrimal`; zero cotangents are arrays of zeros,
        which cost nothing once compiled. `optimize_remat` says nothing here.
        """
        self._forward, self._reverse, self._is_symbolic = fwd, bwd, symbolic_zeros

    @property
    def is_defined(self) -> bool:
        return self._forward is not None

    def rules(
        self,
        function: TracedFunction,
        args: _Arguments,
        tracers: Sequence[Tracer],
        by: CustomDerivative | None = None,
    ) -> list[TracedFunction]:
        name, forward = function_name(self.fun), self._forward
        assert forward is not None
        structures: list[tuple[TreeDef, list[Any]]] = []

        def traced(*xs: Any) -> Any:
            if self._is_symbolic:
                xs = tuple(CustomVJPPrimal(x, may_change(outer)) for x, outer in zip(xs, tracers, strict=True))
            returned = forward(*args.unflatten(xs))
            if not isinstance(returned, tuple | list) or len(returned) != 2:
                raise DifferentiationError(
                    f"the forward rule of {name} must return a pair (value, residuals), got {returned!r:.60}"
                )
            value = _like_results(returned[0], function, f"what the forward rule of {name} returns first, its value,")
            leaves, structure = flatten(returned[1])
            numbers = [x if type(x) in _NUMBERS else None for x in leaves]
            structures.append((structure, numbers))
            return (*value, *(x for x, number in zip(leaves, numbers, strict=True) if number is None))

        first = _trace_rule(by or self, traced, "forward", function.avals, tracers)
        n_results = len(function.out_avals)
        residuals = first.out_avals[n_results:]

        def turned(*xs: Any) -> Any:
            cotangent = _with_zeros(xs[len(residuals) :], function)
            structure, numbers = structures[-1]
            arrays = iter(xs)
            kept = structure.unflatten([next(arrays) if number is None else number for number in numbers])
            returned = self._reverse(*(x for _, x in args.fixed), kept, cotangent)
            return _gradients(returned, args, function.avals, name)

        cotangents = [function.out_avals[k]._replace(weak=False) for k in _inexact(function.out_avals)]
        return [first, _trace_rule(by or self, turned, "reverse", [*residuals, *cotangents], ())]


@dataclass(frozen=True)
class CustomVJPPrimal:
    """A leaf of the arguments of a forward rule: its value, and whether it may be differentiated by."""

    value: Any
    perturbed: bool


def may_change(x: Tracer) -> bool:
    """Whether a value may depend on a variable of differentiation: it is no constant, nor behind `stop_gradient`."""
    return changed_by(x) > 0


def changed_by(x: Tracer) -> float:
    """Which transformation may change a value, the innermost of those that may: their count from outside; 0 if none does.

    A half stands for reverse mode, where it transposes a rule that no transformation differentiates.

    Values are walked once (`Trace.changed`), without recursion.
    """
    waiting = [(x.within, x.value)]
    while waiting:
        trace, value = waiting[-1]
        if value in trace.changed:
            waiting.pop()
            continue
        sources = _sources(trace, value)
        missing = [source for source in sources if source[1] not in source[0].changed]
        if missing:
            waiting += missing
            continue
        level = max((within.changed[v] for within, v in sources), default=0)
        if isinstance(value, BlockArgument) and (value.owner is not trace.block or value.index < trace.own_arguments):
            own = trace.derivatives or min(trace.transposed, 0.5)
            level = min(own, level) if sources else own
        trace.changed[value] = level if _is_float(value) else 0
        waiting.pop()
    return x.within.changed[x.value]


def _is_float(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and isinstance(element_of(value), AnyFloat | ComplexType)


def _sources(trace: Trace, value: SSAValue) -> list[tuple[Trace, SSAValue]]:
    """What a value is computed from, or stands for; nothing for a variable."""
    if isinstance(value, OpResult):
        is_fixed = not _is_float(value) or value.op.name == "graph.stop_gradient"
        return [] if is_fixed else [(trace, operand) for operand in value.op.operands]
    assert isinstance(value, BlockArgument)
    if value.owner is not trace.block:
        return []
    if value.index >= trace.own_arguments:
        outer = trace.captured[value.index - trace.own_arguments][0]
    else:  # an argument of a rule is an operand of the call
        outer = trace.known[value.index] if trace.is_rule and value.index < len(trace.known) else None
    return [(outer.within, outer.value)] if type(outer) is Tracer else []


class BothModes(CustomDerivative):
    """A function with a rule for each mode: forward mode takes that of a `custom_jvp`, reverse mode those of a `custom_vjp`."""

    DEFINE = ".defjvp and .defvjp of its parts"
    IN_REVERSE = True

    def __init__(self, by_jvp: custom_jvp, by_vjp: custom_vjp):
        super().__init__(by_jvp.fun, by_jvp.nondiff_argnums)
        self.by_jvp, self.by_vjp = by_jvp, by_vjp

    @property
    def is_defined(self) -> bool:
        return self.by_jvp.is_defined and self.by_vjp.is_defined

    def rules(self, function: TracedFunction, args: _Arguments, tracers: Sequence[Tracer]) -> list[TracedFunction]:
        return [*self.by_jvp.rules(function, args, tracers, self), *self.by_vjp.rules(function, args, tracers, self)]


def _with_zeros(cotangents: Sequence[Any], function: TracedFunction) -> Any:
    """The cotangent of all results: zeros for those that are not float."""
    given = iter(cotangents)
    avals = function.out_avals
    return function.out_structure.unflatten(
        [next(given) if is_inexact_dtype(a.dtype) else filled(0, a.shape, a.dtype) for a in avals]
    )


def _gradients(returned: Any, args: _Arguments, avals: Sequence[Aval], name: str) -> tuple[Any, ...]:
    """The gradients by the float leaves of the arguments, from what a reverse rule returns."""
    what = f"the reverse rule of {name}"
    structures = args.structure.children
    if not isinstance(returned, tuple | list) or len(returned) != len(structures):
        found = f"{len(returned)} values" if isinstance(returned, tuple | list) else f"{returned!r:.60}"
        raise DifferentiationError(
            f"{what} must return a tuple with a gradient for each of {len(structures)} arguments, got {found}"
        )
    gradients: list[Any] = []
    at = 0
    for k, (value, structure) in enumerate(zip(returned, structures, strict=True)):
        own = avals[at : at + structure.num_leaves]
        at += structure.num_leaves
        floats = _inexact(own)
        if value is None and structure.num_leaves:
            gradients += [filled(0, own[j].shape, own[j].dtype) for j in floats]
        elif floats:
            found = like(value, structure, own, f"the gradient by argument {k} that {what} returns")
            gradients += [found[j] for j in floats]
    return tuple(gradients)


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function from one that returns `(value, pull)`, where `pull(cotangent)` gives the gradients by the arguments.

    With one argument `pull` may return its gradient alone. As `jax.custom_gradient`.

    >>> import numpy as np, lamina as lm
    >>> @lm.custom_gradient
    ... def doubled(x):
    ...     return x * x, lambda g: 2 * (2 * x * g)
    >>> lm.grad(doubled)(np.float32(3))
    array(12., dtype=float32)
    """

    @functools.wraps(fun)
    def value(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)[0]

    custom = _FromPull(value)
    custom.both = fun
    return functools.wraps(fun)(lambda *args, **kwargs: custom(*args, **kwargs))


class _FromPull(CustomDerivative):
    """The form of `custom_gradient`: the reverse rule is traced inside of the forward one; what it reads is the residuals."""

    both: Callable[..., Any]

    @property
    def is_defined(self) -> bool:
        return True

    def rules(self, function: TracedFunction, args: _Arguments, tracers: Sequence[Tracer]) -> list[TracedFunction]:
        name = function_name(self.fun)
        pulls: list[TracedFunction] = []
        cotangents = [function.out_avals[k]._replace(weak=False) for k in _inexact(function.out_avals)]

        def traced(*xs: Any) -> Any:
            value, pull = self.both(*args.unflatten(xs))
            results = _like_results(value, function, f"what {name} returns first, its value,")

            def turned(*cts: Any) -> Any:
                returned = pull(_with_zeros(cts, function))
                one = len(args.structure.children) == 1
                is_single = one and not (isinstance(returned, tuple | list) and len(returned) == 1)
                return _gradients((returned,) if is_single else returned, args, function.avals, name)

            pulls.append(_trace_rule(self, turned, "reverse", cotangents, (), inner=True))
            return (*results, *share_captured(staging(), pulls))

        first = _trace_rule(self, traced, "forward", function.avals, tracers)
        reverse = pulls[-1]
        residuals = first.out_avals[len(function.out_avals) :]
        reverse.avals, reverse.captured = (*residuals, *reverse.avals), []
        return [first, reverse]


def with_slopes(function: Callable[..., Tracer], *slopes: Callable[..., Any] | None) -> Callable[..., Tracer]:
    """A function of floats whose slope by each operand is another, of the result and the operands; None: 0."""

    def rule(slope: Callable[..., Any]) -> Callable[..., Tracer]:
        return lambda tangent, y, *operands: tangent * slope(y, *operands)

    known = custom_jvp(function)
    known.defjvps(*(None if slope is None else rule(slope) for slope in slopes))
    return known
