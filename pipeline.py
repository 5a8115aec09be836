"""The pipeline: every phase and every step, with the reason for its position.

    graph -> optimized -> loop -> scheduled -> program -> llvmir -> asm | object

`jit` runs exactly these steps; `lamina-opt --compile-to=<phase>` stops after one. The attribute `lamina.phase` of a module has
the last phase it reached, so that compilation of printed IR can be resumed; without it the ops of the module decide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import extensions
from .codegen.targets.base import Target
from .codegen.targets.host import host
from .errors import CompileError, ExtensionError, about
from .passes import replay_tuned
from .runtime.gc_pause import collecting_later

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation
    from xdsl.passes import ModulePass

    from .dialects.loop.loops import KernelOp
    from .runtime.signature import Signature

PHASES = ("graph", "optimized", "loop", "scheduled", "program", "llvmir", "asm", "object")


@dataclass(frozen=True)
class Step:
    """One pass of the pipeline."""

    phase: str
    module: str
    why: str
    options: tuple[tuple[str, Any], ...] = ()
    registered: ModulePass | None = None
    """The pass itself, if another package registered it."""

    @property
    def name(self) -> str:
        """The pass's name on the command line."""
        if self.registered is not None:
            return self.registered.name
        return ("loop-" if ".schedule." in self.module else "") + self.module.rpartition(".")[2].replace("_", "-")

    def make(self) -> ModulePass:
        """The pass with its options."""
        if self.registered is not None:
            return self.registered
        return dataclasses.replace(load_pass(self.module), **dict(self.options))


STEPS = (
    Step("optimized", "transforms.graph_while_to_for", "loops that are counted have derivatives in reverse"),
    Step("optimized", "transforms.graph_reroll", "repeated layers become functions: all that follows sees each of them once"),
    Step("optimized", "transforms.graph_vmap", "batching first: derivatives of batched code, not batches of derivatives"),
    Step("optimized", "transforms.graph_linearize", "derivatives while composites still have their names and rules"),
    Step("optimized", "transforms.graph_transpose", "turns the linear parts that linearize left into backward code"),
    Step("optimized", "transforms.graph_inline", "one function, so that what follows sees across calls"),
    Step("optimized", "transforms.graph_fold_conditions", "what a branch knows; after derivatives, which repeat conditions"),
    Step("optimized", "transforms.graph_hoist_invariants", "derivatives of loops compute much that no iteration changes"),
    Step("optimized", "transforms.graph_if_to_select", "branches of scalars fuse with what is around them; not differentiated"),
    Step("optimized", "transforms.graph_split_complex", "what is below has floats alone; derivatives are of complex numbers"),
    Step(
        "optimized",
        "transforms.graph_name_sizes",
        "sizes of type ? get names: from here on every size is a number or an expression",
    ),
    Step(
        "optimized",
        "transforms.target.graph_select_kernels",
        "kernels of other packages: differentiated and batched by now, composites still have their names",
    ),
    Step("optimized", "transforms.graph_decompose", "composites that kept their name until here become primitives"),
    Step("optimized", "transforms.target.graph_polyphase", "convolutions of dilated inputs multiply by no zero"),
    Step("optimized", "transforms.target.graph_integer_products", "quantized numbers while they are as written"),
    Step("optimized", "transforms.target.graph_winograd", "once convolutions are final; before transposes are simplified"),
    Step("optimized", "transforms.graph_simplify", "identities and constants, much of them left by differentiation"),
    Step("optimized", "transforms.graph_cse", "forward values recomputed by the backward part are one again"),
    Step("optimized", "transforms.graph_reroll", "what derivatives are used for is repeated, too: the updates of parameters"),
    Step("optimized", "transforms.target.graph_gram", "symmetric products are computed up to the diagonal; large ones alone"),
    Step("optimized", "transforms.graph_simplify", "what became equal enables more identities"),
    Step("optimized", "transforms.graph_cse", "and those more equal values"),
    Step("optimized", "transforms.target.graph_pack_dots", "products by words: after rules, which know products as such"),
    Step("optimized", "transforms.graph_dce", "nothing unused is compiled"),
    Step("loop", "transforms.graph_fuse", "groups are chosen on clean graphs: one group, one kernel"),
    Step("loop", "transforms.graph_collapse_dims", "fewer and longer loops, and shapes that come to the same share a kernel"),
    Step("loop", "lowering.convert_graph_to_loop", "kernels, each distinct one once, and a host function that launches them"),
    Step(
        "scheduled",
        "lowering.schedule.auto",
        "register tiles and vectors: LLVM is not asked to find them; kernels called from C take no threads unless they ask",
        (("threads", False),),
    ),
    Step("program", "lowering.default_threads", "schedules by hand need not say which loops run on threads"),
    Step("program", "lowering.plan_buffers", "when all buffers and launches are known: one arena"),
    Step("program", "lowering.loop_drop_signs", "last, when no step asks types for signs: kernels are what upstream reads"),
)


_QUANTIZED = "transforms.target.graph_integer_products"
_AFTER_QUANTIZED = ("graph_simplify", "graph_cse", "target.graph_pack_dots", "graph_dce")
_AUTO = "lowering.schedule.auto"

_added: dict[str, tuple[ModulePass, str]] = {}
"""Passes of other packages that are steps, and the step that each follows."""


def register_step(one: ModulePass, *, after: str) -> None:
    """Make a registered pass a step of the pipeline, for all later compilations.

    Args:
        one: the pass with its options, of a class that `register_pass` knows.
        after: the name of the step whose last occurrence it follows: `graph-simplify`, `graph-fuse`,
            `loop-auto`, or another registered one. The module stays at the phase of that step.

    Raises:
        ExtensionError: the pass is not registered, or there is no such step.
    """
    from . import passes

    if isinstance(one, str | type):
        raise ExtensionError(f"register_step takes a pass with its options, as MyPass(), not {one!r}")
    if passes.registered_passes().get(one.name) is not type(one):
        raise ExtensionError(f"register_step: pass '{one.name}' must be registered first, by register_pass")
    names = [step.name for step in steps()]
    if after not in names or after == one.name:
        raise ExtensionError(
            f"register_step: '{one.name}' cannot follow '{after}', steps are: {', '.join(dict.fromkeys(names))}"
        )
    extensions.add("step", one.name, type(one).__module__)
    _added[one.name] = one, after


def steps() -> tuple[Step, ...]:
    """All steps in order, including those of other packages."""
    extensions.load()
    found = list(STEPS)
    for one, after in _added.values():
        k = max((k for k, step in enumerate(found) if step.name == after), default=None)
        assert k is not None, f"{one.name} follows {after}"
        found.insert(k + 1, Step(found[k].phase, "", "registered", registered=one))
    return tuple(found)


@cache
def load_pass(module: str) -> ModulePass:
    """An instance of the one pass class of a module of the package, named like the file."""
    name = ("loop-" if ".schedule." in module else "") + module.rpartition(".")[2].replace("_", "-")
    loaded = import_module(f".{module}", __package__)
    for value in vars(loaded).values():
        if isinstance(value, type) and value.__module__ == loaded.__name__ and getattr(value, "name", None) == name:
            return value()
    raise CompileError(f"no pass named {name} in {module}")


def phase_of(module: ModuleOp) -> str:
    """The last phase that a module has reached: by its attribute, else by its ops."""
    from xdsl.dialects.builtin import StringAttr

    from .dialects.program import FuncOp

    said = module.attributes.get("lamina.phase")
    names = {op.name for op in module.body.block.ops}
    if "loop.kernel" in names and any(map(_is_graph, module.body.block.ops)):
        # hand-written kernels, which may be scheduled already, stand beside the graphs that run them
        return said.data if isinstance(said, StringAttr) and said.data in PHASES[:2] else "graph"
    if isinstance(said, StringAttr) and said.data in PHASES:
        return said.data
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    if any(function.arena is not None for function in functions):
        return "program"
    return "loop" if "loop.kernel" in names or functions else "graph"


def is_before(module: ModuleOp, phase: str) -> bool:
    """Whether a module has not reached a phase yet."""
    return PHASES.index(phase_of(module)) < PHASES.index(phase)


def _is_graph(op: Operation) -> bool:
    """Whether an op is a function over tensors."""
    from xdsl.dialects.builtin import TensorType
    from xdsl.dialects.func import FuncOp

    if not isinstance(op, FuncOp) or not op.body.blocks:
        return False
    return any(isinstance(type, TensorType) for type in (*op.function_type.inputs, *op.function_type.outputs))


def steps_to(module: ModuleOp, phase: str) -> Iterator[Step]:
    """The remaining steps from a module to a phase of its IR (up to `program`)."""
    reached, goal = PHASES.index(phase_of(module)), PHASES.index(phase)
    if goal < reached:
        raise CompileError(f"the module is past phase {phase}: it has reached {PHASES[reached]}")
    return (step for step in steps() if reached < PHASES.index(step.phase) <= goal)


def run_to(
    module: ModuleOp,
    phase: str,
    ctx: Context | None = None,
    each: Any = None,
    *,
    before: Any = None,
    tuned: bool = False,
    scheduled: Callable[[KernelOp], None] | None = None,
) -> None:
    """Bring a module to a phase, in place, for the target that it names. `each(step, module)` is called after every step,
    `before(step, module)` before it.

    With `tuned`, kernels get the schedules that `tune` found for them, and the default schedule gets the others. `scheduled` is
    called with each kernel once it is scheduled, before the next one is.
    """
    from xdsl.dialects.builtin import IntegerAttr, StringAttr

    from .dialects import text_versions
    from .dialects.module_rules import require_single_blocks
    from .passes import run_pass

    goal = phase if phase in PHASES[: PHASES.index("llvmir")] else "program"
    ctx = ctx or _context()
    require_single_blocks(module)
    for step in list(steps_to(module, goal)):
        if before is not None:
            before(step, module)
        if tuned and step.module == _AUTO:
            replay_tuned(module)
        with about(module):
            if step.module == _AUTO:
                one: Any = step.make()
                one.schedule(module, scheduled)
            elif step.registered is not None:
                run_pass(module, ctx, step.registered, verify=True)
            else:
                step.make().apply(ctx, module)
        if each is not None:
            each(step, module)
    module.attributes["lamina.phase"] = StringAttr(goal)
    module.attributes[text_versions.ATTRIBUTE] = IntegerAttr(text_versions.VERSION, 64)


def compile_to(
    module: ModuleOp,
    phase: str,
    ctx: Context | None = None,
    target: Target | None = None,
    *,
    tuned: bool = False,
    debug_info: bool = False,
) -> str | bytes:
    """The text of a module at a phase, or the bytes of an object. The module itself is lowered up to `program` at most.

    Args:
        module: a module at `phase` or before it.
        phase: one of `PHASES`.
        target: the target from here on; by default the one that the module names, else the host.
        tuned: whether kernels get the schedules that `tune` found for them, as in `build`.
        debug_info: whether instructions carry source lines, for debuggers and profilers.

    Raises:
        CompileError: an op cannot be lowered, or the module is past the phase.
    """
    from .lowering.target import set_target, target_of

    if target is not None:
        set_target(module, target)
    run_to(module, phase, ctx, tuned=tuned)
    if phase not in ("llvmir", "asm", "object"):
        return str(module) + "\n"
    from .codegen import compile as codegen
    from .lowering.llvm.emit import emit_module

    with about(module):
        target = target_of(module)
        text = emit_module(module, target, debug_info=debug_info)
        if phase == "llvmir":
            return text
        return codegen.emit_asm(text, target) if phase == "asm" else codegen.compile_object(text, target)


@collecting_later()
def build(
    module: ModuleOp, entry: str = "main", *, names: Sequence[str] | None = None, target: Target | None = None
) -> tuple[Signature, bytes]:
    """Compile a module: the signature of one of its functions, and the bytes of an object that `load_executable` takes.

    Args:
        module: graph IR or a later phase; it is brought to `program`.
        entry: the public function to call.
        names: the names of the arguments in messages; by default those of the text.
        target: by default the one that the module names, else the host.

    Raises:
        CompileError: an op cannot be lowered, or there is no such function.
    """
    from .codegen.executable import object_for
    from .codegen.partition import Ahead

    with Ahead(target, workers=_load_workers) as ahead:
        signature, text = lower(module, entry, names, target, ahead.add)
        return signature, object_for(signature, text, entry, target, ahead)


def has_many_ops(module: ModuleOp) -> bool:
    """Whether it may pay to `roll` a module before its key is made."""
    if not is_before(module, "optimized"):
        return False
    return any(sum(1 for _ in block.ops) >= 256 for op in module.body.block.ops for r in op.regions for block in r.blocks)


def roll(module: ModuleOp) -> None:
    """Run the steps up to the one that outlines repeated bodies, so that later steps and the key see each body once.

    They run again in their turn, so this is skipped if one of another package, which may rely on running once, is among them.
    """
    from .dialects.module_rules import require_single_blocks

    require_single_blocks(module)
    first = steps()
    last = next((k for k, step in enumerate(first) if step.module == "transforms.graph_reroll"), -1)
    if any(step.registered is not None for step in first[: last + 1]):
        return
    with about(module):
        for step in first[: last + 1]:
            step.make().apply(_context(), module)


def choose_weights(module: ModuleOp) -> None:
    """Run the steps that decide in which form products read quantized weights, for the target of the module.

    They run again in their turn. As in `roll`, nothing happens where steps of other packages are among them.
    """
    from .dialects.module_rules import require_single_blocks

    require_single_blocks(module)
    first = steps()
    last = next((k for k, step in enumerate(first) if step.module == _QUANTIZED), -1)
    if any(step.registered is not None for step in first[: last + 1]):
        return
    more = [next(step for step in first if step.module == f"transforms.{name}") for name in _AFTER_QUANTIZED]
    with about(module):
        for step in (*first[: last + 1], *more):
            step.make().apply(_context(), module)


def _load_workers() -> None:
    """Load the runtime functions that parallel loops call."""
    from .codegen import parallel

    parallel.imports()


def lower(
    module: ModuleOp,
    entry: str = "main",
    names: Sequence[str] | None = None,
    target: Target | None = None,
    ahead: Callable[[str], None] | None = None,
) -> tuple[Signature, str]:
    """The signature of one function of a module, and the LLVM IR text of the module.

    Args:
        ahead: gets texts of kernels while others are still to be scheduled; the returned text then lacks these kernels.
    """
    from .codegen.partition import LEAST_LINES
    from .lowering.llvm.emit import ModuleWriter
    from .lowering.plan_buffers import pairs_in_use
    from .lowering.target import set_target, target_of
    from .runtime.module_signatures import signature_of

    if target is not None:
        set_target(module, target)
    with about(module):
        if is_before(module, "loop"):
            run_to(module, "loop")
        if is_before(module, "scheduled"):
            replay_tuned(module)
        writer = ModuleWriter(module, target_of(module))
        in_place = pairs_in_use(module)

        def scheduled(kernel: KernelOp) -> None:
            kernel.in_place_pairs = in_place[kernel.sym_name.data]
            writer.write_ahead(kernel)
            if ahead is not None and writer.waiting_lines >= LEAST_LINES:
                ahead(writer.taken())

        run_to(module, "program", scheduled=None if ahead is None else scheduled)
        return signature_of(module, entry, names), writer.rest()


def guard_accesses(module: ModuleOp) -> None:
    """Make the kernels of a module from text safe to run: `lowering/check_bounds.py`."""
    from .lowering.check_bounds import guard_accesses as guard

    with about(module):
        guard(module)


def runnable_target(module: ModuleOp, target: Target | None) -> Target:
    """The target to run a module for: `target`, or the one that the module names, else the host.

    Raises:
        CompileError: this machine cannot run code for it.
    """
    from .codegen.targets.host import why_not_here
    from .lowering.target import declared_target

    target = target or declared_target(module) or host()
    if (reason := why_not_here(target)) is not None:
        raise CompileError(f"the module is for target '{target}', which cannot run here: {reason}")
    return target


def _context() -> Context:
    from .dialects.context import make_context

    return make_context()
