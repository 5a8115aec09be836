"""Extending the compiler from another package: the registration functions, and the classes that extensions are built from.

    from lamina import extend

    @extend.register_op
    class SoftCapOp(extend.CompositeOp): ...

Three layers can be extended independently of each other, and each relies only on the contract of the one above
(docs/extending.md): the graph (ops, rewrite rules, passes), the schedule of its kernels (primitives, strategies, kernels
written by hand for an op) and the machine (targets, devices). A package that names a module under the entry point group
`lamina.extensions` is found when it is installed; registering by hand does the same for one process. A registration applies to
all later compilations and is part of every key of the object cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ..codegen.targets.base import Target, register_target
from ..dialects.facts import Cost, OpFacts, Rounding
from ..dialects.graph.base import (
    OPS,
    Bilinear,
    CompositeOp,
    Custom,
    Derivative,
    Elementwise,
    Equation,
    GraphOp,
    Linear,
    NotDifferentiable,
    Read,
    Zero,
    graph_op,
)
from ..dialects.graph.batching import alike, along
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.registered import register_op
from ..dialects.graph.rules import EXACT, REASSOCIATING, Rule, register_rule, ulp
from ..dialects.loop.loops import ForOp, KernelOp
from ..dialects.loop.memory import CheckOp
from ..dialects.types import element_of, element_type, shape_of, tensor
from ..errors import ExtensionError, LaminaError
from ..executor.kernels import find_kernel
from ..extensions import Extension, extensions
from ..lowering.analysis.nests import find as find_loop
from ..lowering.analysis.nests import loops
from ..lowering.op_kernels import KernelChoice, add_choice
from ..lowering.schedule.base import Primitive
from ..lowering.strategies import KernelStrategy, NestStrategy, Strategy, Take, register_strategy
from ..passes import register_pass
from ..pipeline import register_step
from .kernel.decorator import KernelBase
from .kernel.generic import GenericKernel
from .run.devices import Device, register_device
from .run.eager import api
from .trace.locations import located
from .trace.program import TensorSpec
from .trace.tracer import Tracer
from .trace.tracing import current, is_array_like

KernelT = TypeVar("KernelT", bound="KernelBase | GenericKernel")

__all__ = [
    "EXACT",
    "REASSOCIATING",
    "Bilinear",
    "CompositeOp",
    "Cost",
    "Custom",
    "Derivative",
    "Device",
    "Elementwise",
    "Equation",
    "Extension",
    "ForOp",
    "GraphBuilder",
    "GraphOp",
    "KernelOp",
    "KernelStrategy",
    "Linear",
    "ModulePass",
    "NestStrategy",
    "NotDifferentiable",
    "OpFacts",
    "Primitive",
    "Read",
    "Rounding",
    "Rule",
    "Strategy",
    "Take",
    "Target",
    "Zero",
    "alike",
    "along",
    "call_op",
    "element_of",
    "element_type",
    "extensions",
    "find_loop",
    "graph_op",
    "loops",
    "register_device",
    "register_kernel",
    "register_op",
    "register_pass",
    "register_primitive",
    "register_rule",
    "register_step",
    "register_strategy",
    "register_target",
    "shape_of",
    "tensor",
    "ulp",
]


def call_op(op: type[GraphOp] | str, *operands: Any, result: Any = None, **properties: Any) -> Any:
    """One op on arrays, as a function of `lamina.numpy` is called: at once, or recorded while tracing.

    Args:
        op: a registered class, or the full name of an op, as `graph.tanh`.
        operands: arrays, or Python numbers, which take the dtype of the first array.
        result: a `TensorSpec`, or several, for ops that take the types of their results from it.
        properties: numbers, words, tuples of integers, or attributes.

    Returns:
        An array, or a tuple if the op has several results.

    Raises:
        ShapeError, DTypeError: the op refuses its operands.
        ExtensionError: there is no such op.

    >>> import numpy as np, lamina as lm
    >>> lm.call_op("graph.softmax", np.zeros(2, np.float32), dims=(0,))
    array([0.5, 0.5], dtype=float32)
    """
    name = op if isinstance(op, str) else op.name
    if OPS.get(name.removeprefix("graph."), GraphOp).__dict__.get("name") != name:
        raise ExtensionError(f"call_op: there is no op '{name}': register its class, or see docs/ops.md for those there are")
    return _call(name, operands, result, properties)


@api
def _call(name: str, operands: Sequence[Any], result: Any, properties: dict[str, Any]) -> Any:
    trace = current()
    assert trace is not None
    like = next((trace.lift(x).dtype for x in operands if isinstance(x, Tracer) or is_array_like(x)), None)
    values = [trace.lift(_of_dtype(x, like)).value for x in operands]
    specs = [result] if isinstance(result, TensorSpec) else result
    types = None if specs is None else [tensor(element_type(spec.dtype), spec.shape) for spec in specs]
    op = OPS[name.removeprefix("graph.")].make(values, properties, types)
    trace.builder.insert(op)
    found = tuple(trace.wrap(value) for value in op.results)
    return found[0] if len(found) == 1 else found


def _of_dtype(x: Any, dtype: Any) -> Any:
    return dtype.type(x) if dtype is not None and isinstance(x, bool | int | float | complex) else x


def register_primitive(cls: type[Primitive]) -> type[Primitive]:
    """Make a schedule primitive of another package known: a pass, and a method of schedules. Use it as a decorator.

    Args:
        cls: a frozen dataclass that derives from `Primitive`, with a name `loop-<verb>`, `check` (what makes the step legal)
            and `rewrite`.

    Raises:
        ExtensionError: the class lacks something, or the name is taken.
    """
    if not (isinstance(cls, type) and issubclass(cls, Primitive)) or not str(getattr(cls, "name", "")).startswith("loop-"):
        raise ExtensionError(f"register_primitive: {cls!r} must derive from Primitive and have a name 'loop-<verb>'")
    for member in ("check", "rewrite"):
        if getattr(cls, member) is getattr(Primitive, member):
            raise ExtensionError(f"register_primitive: {cls.__name__} needs {member}")
    register_pass(cls)
    return cls


def register_kernel(
    op: type[GraphOp] | str,
    *,
    on: str | Sequence[str] = (),
    when: Callable[[GraphOp, Target], bool] | None = None,
    cost: Callable[[GraphOp, Target], float] | None = None,
    inline: bool = False,
    lanes: bool | None = None,
    name: str | None = None,
) -> Callable[[KernelT], KernelT]:
    """Let a kernel written by hand compute an op, where a condition holds and its cost is least. A decorator.

    The kernel's parameters are the op's operands, which it reads, and its results, which it writes whole; it is taken only
    where element types and ranks fit. A kernel with type variables has one form for each element type. Derivatives and
    batches of the op are taken before the choice, from the op.

    A kernel that is `inline` is the loop form of an op whose `facts` name the kernel's module as `kernels`: its loops are
    written for the op's sizes, fused with what is around them and scheduled like those of any op; it may also read its
    results. Where its facts have a `problem_rank`, it solves one problem, and runs for each one of a stack.

    Args:
        op: a class or the full name of an op.
        on: names of targets (`x86-64-v4`) or architectures (`x86_64`) that it is for; by default all.
        when: `when(op, target)`: whether it may be used for these shapes and properties.
        cost: `cost(op, target)`: about how many operations on vectors it takes. Of several kernels the cheapest is
            called, and only if it is cheaper than the op's own loops. Without a cost the kernel is called wherever it may be.
        inline: whether the kernel is the op's loop form; else it is called, with the schedule that it has.
        lanes: of an inline kernel: whether it is only for vectors that hold one problem of a stack in each lane (True), or
            not for these (False).
        name: of the kernel among those of the op, by default its own; a later one of the same name takes its place.

    Raises:
        ExtensionError: there is no such op, or what is decorated is no kernel.

    >>> import numpy as np, lamina as lm
    >>> @lm.register_kernel("graph.sort", when=lambda op, target: op.result_shape() == (2,))
    ... @lm.kernel
    ... def sort_two(x: lm.f32["N"], y: lm.f32["N"]):
    ...     y[0] = min(x[0], x[1])
    ...     y[1] = max(x[0], x[1])
    """
    called = op if isinstance(op, str) else op.name
    if OPS.get(called.removeprefix("graph."), GraphOp).__dict__.get("name") != called:
        raise ExtensionError(f"register_kernel: there is no op '{called}'; docs/ops.md lists those there are")

    def declare(kernel: KernelT) -> KernelT:
        if not isinstance(kernel, KernelBase | GenericKernel):
            raise ExtensionError(f"register_kernel: put it above @lm.kernel; got {type(kernel).__name__}: {kernel!r:.60}")
        function: Any = kernel.__wrapped__
        names = (on,) if isinstance(on, str) else tuple(on)
        make = _as_written if inline else _as_scheduled

        def made(types: Sequence[Attribute]) -> KernelOp | None:
            found: Any = kernel.for_types(types) if isinstance(kernel, GenericKernel) else kernel
            return None if found is None else make(found)

        choice = KernelChoice(name or function.__name__, made, names, when, cost, inline, lanes)
        add_choice(called, choice, function.__module__)
        return kernel

    return declare


def _as_written(kernel: KernelBase) -> KernelOp:
    """The kernel without a schedule."""
    if kernel.__kernel__.is_scheduled:
        raise ExtensionError(
            f"kernel '{kernel.__kernel__.function.__name__}' is inline and scheduled with its op: take no steps"
        )
    return _checked(lambda: find_kernel(kernel.__kernel__.module))


def _as_scheduled(kernel: KernelBase) -> KernelOp:
    """The kernel with the schedule it has by now."""
    return _checked(lambda: kernel.__kernel__.called(lambda module, steps: find_kernel(module)))


def _checked(make: Callable[[], KernelOp]) -> KernelOp:
    try:
        found = make()
    except LaminaError as error:
        raise located(error) from None
    if any(isinstance(op, CheckOp) for op in found.walk()):
        rule = "checks bounds (check_bounds=True) or raises exceptions, and ops cannot fail at run time"
        raise ExtensionError(f"kernel '{found.sym_name.data}' {rule}: define it without")
    return found
