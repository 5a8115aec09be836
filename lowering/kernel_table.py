"""The kernels of a module: one for each distinct fusion, found by a canonical key of its plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Region

from ..dialects.facts import Cost
from ..dialects.graph.base import CompositeOp, GraphOp
from ..dialects.graph.create import ConstOp
from ..dialects.graph.fusion import YieldOp, structure_of
from ..dialects.loop.loops import KernelOp
from ..dialects.loop.shapes import shapes_attribute
from ..dialects.sizes.polynomial import Size
from ..errors import is_interruption
from .carried import overwritten_operand
from .fallbacks import Fallback, record
from .fusion_to_loops import KernelEmitter, KernelPlan
from .work import launch_work

MAX_NAME_OPS = 5


@dataclass
class Kernels:
    """The kernels of a module, one for each distinct fusion body."""

    module: ModuleOp
    by_key: dict[object, tuple[KernelOp | None, int]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    sizes: dict[KernelOp, list[Size]] = field(default_factory=dict)
    """The index arguments of kernels: terms of dynamic sizes, all nonnegative."""

    def get(self, plan: KernelPlan) -> tuple[KernelOp | None, int]:
        """The kernel of a plan, and the work of one run.

        The kernel is None where the plan has to be converted as the primitives of a composite.
        """
        key = plan_key(plan)
        if key not in self.by_key:
            self.by_key[key] = self._built(plan), launch_work(plan.body)
        return self.by_key[key]

    def _built(self, plan: KernelPlan) -> KernelOp | None:
        """A new kernel; if the nest of its op cannot be built, from the plain nest of that op."""
        nest, name = plan.nest, self._name(plan.body)
        if nest is None or not (isinstance(nest, CompositeOp) or nest.has_plain_nest):
            return self._emitted(KernelEmitter(plan, self.module), name)
        try:
            return self._emitted(KernelEmitter(plan, self.module), name)
        except Exception as error:
            if is_interruption(error):
                raise
            event = Fallback(name, f"the nest of '{nest.name}'", None, error)
        kernel = self._emitted(KernelEmitter(plan, self.module, is_plain=True), name) if nest.has_plain_nest else None
        record(event, kernel)
        return kernel

    def _emitted(self, emitter: KernelEmitter, name: str) -> KernelOp:
        block = emitter.emit()
        if (overwritten := overwritten_operand(emitter.outputs[0].owner)) is not None:
            block.erase_arg(emitter.buffers[overwritten])  # pyright: ignore[reportArgumentType]
        kernel = KernelOp.create(properties={"sym_name": StringAttr(name)}, regions=[Region(block)])
        if shapes := emitter.given_shapes():
            kernel.properties["shapes"] = shapes_attribute(shapes, len(emitter.sizes))
        self.sizes[kernel] = list(emitter.sizes)
        kernel.in_place_pairs = emitter.inplace
        return kernel

    def _name(self, body: Block) -> str:
        ops = [op for op in body.ops if isinstance(op, GraphOp) and not isinstance(op, ConstOp | YieldOp)]
        heavy = [op for op in ops if op.facts.cost is not Cost.INDEX] or ops
        heavy = [op.name.removeprefix("graph.") for op in heavy] or ["copy"]
        shown = list(dict.fromkeys(heavy))
        return self.unique("_".join(shown[:MAX_NAME_OPS]) + (f"_{len(heavy)}ops" if len(shown) > MAX_NAME_OPS else ""))

    def unique(self, base: str) -> str:
        """A symbol name that is still free."""
        name, k = base, 1
        while name in self.names:
            name, k = f"{base}_{k}", k + 1
        self.names.add(name)
        return name


def plan_key(plan: KernelPlan) -> object:
    """A canonical key of a plan: equal keys mean equal kernels."""
    structure = structure_of(plan.body)
    stored = [tuple([structure.numbers[value] for value in values]) for values in (plan.outputs, plan.stored_first)]
    return tuple(plan.order), structure.key, *stored
