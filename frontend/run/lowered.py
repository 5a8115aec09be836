"""The stages of `jit`: a traced function at any level, and the compiled function."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import InsertPoint

from ...dialects.graph.builder import GraphBuilder
from ...dialects.operations import clone
from ...dialects.types import element_of
from ...executor import executor
from ...runtime.arrays import Sizes, plain
from ...runtime.callable import MISS, exact_function
from ...runtime.executable import Executable
from ...runtime.signature import ArrayParam, Signature
from ..trace.program import Aval, Interface, Program, TracedFunction
from ..trace.pytree import TreeDef, flatten
from .weights import compute_from_weights, has_quantized_weights

if TYPE_CHECKING:
    from ...explorer import Page


class Lowered:
    """A traced function, ready to be compiled or looked at.

    >>> import numpy as np, lamina as lm
    >>> print(lm.jit(lambda x: x + 1).lower(np.zeros(2, np.float32)).as_text())  # doctest: +ELLIPSIS
    builtin.module {
      func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    ...
    """

    def __init__(self, program: Program, traced: TracedFunction, name: str, paths: Sequence[str]):
        self.traced = traced
        self.name = name
        self.paths = [*paths, *(f"<captured {k}>" for k in range(len(traced.captured)))]
        self._module = program.module
        self._callbacks = program.callbacks

    @property
    def module(self) -> ModuleOp:
        """The graph IR, a fresh copy; its entry is `@main`."""
        return clone(self._module)

    def module_with_places(self) -> ModuleOp:
        """The graph IR as it was traced, where ops know their lines; not to be changed."""
        return self._module

    @property
    def in_avals(self) -> tuple[Aval, ...]:
        """Dtypes and shapes of the argument leaves."""
        return self.traced.avals

    @property
    def out_avals(self) -> tuple[Aval, ...]:
        """Dtypes and shapes of the result leaves."""
        return self.traced.out_avals

    def as_text(self, phase: str = "graph", target: str | None = None) -> str:
        """The program at a phase: graph, optimized, loop, scheduled, program, llvmir or asm.

        Args:
            phase: where to stop.
            target: the machine to schedule and compile for, as `"aarch64"` or `"x86-64-v3{l2=256K}"`; the host if not given.

        Raises:
            ValueError: no such phase.
            CompileError: an op cannot be lowered, or there is no such target.
        """
        if phase == "graph":
            return f"{self._module!s}\n"
        from ... import pipeline

        if phase not in pipeline.PHASES or phase == "object":
            raise ValueError(
                f"no phase {phase!r} with a text; there are: {', '.join(p for p in pipeline.PHASES if p != 'object')}"
            )
        from ...codegen import targets

        text = pipeline.compile_to(self.module, phase, target=None if target is None else targets.get(target), tuned=True)
        assert isinstance(text, str)
        return text

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        header: str | os.PathLike[str] | None = None,
        target: str | None = None,
        prefix: str | None = None,
        threads: bool | None = None,
        weights: Literal["embed", "file"] = "embed",
    ) -> None:
        """Write the program for C and other languages, or for `lm.load`: it needs neither Python nor this package.

        Args:
            path: a file ending in .o, .a, .so, .s or .ll. The function is called as the file without its suffix.
            header: a file for its prototype in C.
            target: what it is for, as `"x86-64-v3"`; the host if not given.
            prefix: of names in C, if not the name of the file.
            threads: whether parallel loops require an OpenMP runtime (True), run on one thread (False), or on threads where
                the program that calls has such a runtime.
            weights: arrays that the function closes over are in the object, or in a file beside it, which ends in .weights.

        Raises:
            CompileError: the program calls Python, or an op cannot be lowered.
            OSError: a file cannot be written.

        >>> import tempfile, numpy as np, lamina as lm
        >>> w = np.full((3, 2), 0.5, np.float32)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     lm.jit(lambda x: x @ w).lower(np.ones((4, 3), np.float32)).export(f"{folder}/layer.so")
        ...     lm.load(f"{folder}/layer.so").main(np.ones((4, 3), np.float32))[0]
        array([1.5, 1.5], dtype=float32)
        """
        from ...codegen import targets
        from ...executor.export import write

        write(
            self._with_constants(),
            path,
            header=header,
            prefix=prefix,
            targets=() if target is None else (targets.get(target),),
            threads=threads,
            weights=weights,
        )

    def _with_constants(self) -> ModuleOp:
        """A copy of the module whose captured arrays are constants."""
        module = self.module
        main = next(f for f in module.body.block.ops if isinstance(f, FuncOp) and f.sym_name.data == "main")
        block = main.body.blocks[0]
        b = GraphBuilder(InsertPoint.at_start(block))
        for argument, array in list(zip(block.args[len(self.traced.avals) :], self.traced.captured, strict=True)):
            argument.replace_all_uses_with(b.const(np.asarray(array), element_of(argument)))
            block.erase_arg(argument)
        main.function_type = FunctionType.from_lists([a.type for a in block.args], list(main.function_type.outputs.data))
        return module

    def explore(self) -> Page:
        """A page that shows the compilation: graph, passes, schedules, assembly, memory, roofline.

        It costs a cold compile. In a notebook the page shows itself, `save(path)` writes it.

        >>> import numpy as np, lamina as lm
        >>> page = lm.jit(lambda x: x * 2 + 1).lower(np.ones(1000, np.float32)).explore()
        >>> "vectorize" in page
        True
        """
        from ...explorer import explore

        return explore(self.module, name=self.name)

    def _repr_svg_(self) -> str:
        """The graph, for notebooks."""
        from ...explorer.graph import drawings

        return next(d for d in drawings(self._module) if d.function == "main").svg()

    def executable(self, consume: bool = False) -> Executable:
        """The loaded machine code of the flat function: argument leaves, then captured arrays; result leaves.

        Args:
            consume: whether the module is lowered in place, and so lost.
        """
        return replace(executor.program(self._module, names=self.paths, consume=consume), functions=self._callbacks)

    def with_weights(self, traced: TracedFunction) -> Lowered:
        """The same module as a program that reads other captured arrays."""
        made = copy(self)
        made.traced = traced
        own = len(self.paths) - len(self.traced.captured)
        made.paths = [*self.paths[:own], *(f"<captured {k}>" for k in range(len(traced.captured)))]
        return made

    def runner(self) -> Callable[[Sequence[Any]], Any]:
        """As `runner`, with code that this process has compiled for an equal module before, if it has."""
        return bound(executor.function(self._module, self.paths, self._callbacks), self.traced)

    def lower(self) -> Lowered:
        """The program itself: jax's step from a trace to its form for a compiler."""
        return self

    def compile(self) -> Compiled:
        """The function for exactly these dtypes and shapes."""
        if not has_quantized_weights(self):
            return Compiled(self, self.executable())
        own = copy(self)
        own._module = self.module
        own = compute_from_weights(own)
        return Compiled(own, own.executable(consume=True))

    def __repr__(self) -> str:
        return f"<lowered {self.name}({', '.join(f'{p}: {a}' for p, a in zip(self.paths, self.in_avals, strict=False))})>"


class Compiled:
    """A function compiled for one structure, dtypes and shapes. It converts nothing: other arguments raise.

    Raises:
        TypeError: another structure or dtype, or not an array.
        ValueError: another shape.
    """

    def __init__(self, lowered: Lowered, executable: Executable):
        self.name = lowered.name
        self._traced = lowered.traced.interface
        arguments = zip(lowered.paths, lowered.in_avals, strict=False)
        self._params = [ArrayParam.of_shape(path, str(a.dtype), a.shape) for path, a in arguments]
        self._executable = executable
        self._run = runner(executable, self._traced)

    @property
    def signature(self) -> Signature:
        """Arguments and results of the flat function."""
        return self._executable.signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        if structure != self._traced.structure:
            raise TypeError(f"{self.name}() is compiled for arguments {_show(self._traced.structure)}, got {_show(structure)}")
        arrays, sizes = [], Sizes(replace(self.signature, name=self.name))
        for leaf, param, aval in zip(leaves, self._params, self._traced.avals, strict=True):
            if aval.weak and type(leaf) in (int, float):
                arrays.append(np.asarray(leaf, aval.dtype))
            else:
                arrays.append(plain(sizes.check(param, leaf), param.np_dtype))
        return self._run(arrays)

    def __repr__(self) -> str:
        return f"<compiled {self.name}({', '.join(f'{p.name}: {p}' for p in self._params)})>"


def _show(structure: TreeDef) -> str:
    args, kwargs = structure.children
    parts = [str(child) for child in args.children]
    parts += [f"{key}={child}" for key, child in zip(kwargs.data, kwargs.children, strict=True)]
    return f"({', '.join(parts)})"


def runner(executable: Executable, traced: Interface) -> Callable[[Sequence[Any]], Any]:
    """From exactly matching argument arrays to the result in its structure; `MISS` if one does not match."""
    return bound(exact_function(executable), traced)


def bound(function: Callable[..., Any], traced: Interface) -> Callable[[Sequence[Any]], Any]:
    """The same from a native function of the argument leaves and captured arrays."""
    finish = finisher(traced)
    hidden = tuple(traced.captured)

    def run(arrays: Sequence[Any]) -> Any:
        out = function(*arrays, *hidden)
        return out if out is MISS else finish(out)

    return run


def finisher(traced: Interface) -> Callable[[Any], Any]:
    """From the result of native code (None, one array, a tuple) to the result in its structure."""
    unflatten, n = traced.out_structure.unflattener(), traced.out_structure.num_leaves
    if n == 0:
        return lambda out: unflatten(())
    if n == 1:
        return lambda out: unflatten((out,))
    return unflatten
