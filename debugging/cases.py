"""Test cases for validating a module: its functions and its kernels, on inputs of every kind and of several sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, StringAttr

from ..dialects import program
from ..dialects.loop.loops import KernelOp
from ..dialects.loop.parameters import Interface, Sizes
from ..dialects.program import functions_of, inputs_of
from ..dialects.sizes.atoms import Symbol
from ..dialects.sizes.polynomial import substituted
from ..dialects.types import DYNAMIC, numpy_dtype, tensor
from ..errors import LaminaError
from ..runtime.effect_sites import Site
from ..runtime.inputs import KINDS, generate
from ..runtime.interpreter import Interpreter, InterpreterError, interpret, shape_and_dtype
from .conditioned import Perturbed

MAX_ELEMENTS = 1 << 20
"""Functions on more elements than this are not run; the report says so."""

SIZES: dict[str, Sequence[int]] = {"": (3, 5, 2, 7, 4, 6), "equal": (3,), "0": (0,), "1": (1,), "13": (13,)}
"""The sizes for `?` dims, one after the other: all different, where possible, then all equal."""

_PRIVATE = StringAttr("private")

Skip = Callable[[str, str], None]
"""Called with a function and why it is not checked."""

Make = Callable[[ModuleOp, int | None, Any], Interpreter]


@dataclass(eq=False)
class Case:
    """One function or kernel on one input, and its results before the passes."""

    name: str
    is_kernel: bool
    kind: str
    sizes: str
    seed: int
    inputs: list[np.ndarray]
    expected: tuple[np.ndarray, ...] | None = None
    other: tuple[np.ndarray, ...] | None = None
    """By differences with another step, while `expected` is by differences."""
    origin: ModuleOp | None = None
    """The module that the condition of the computation is measured on."""
    dropped: bool = False
    settled: bool = False
    """Whether it was run once."""
    iterations: int = 0
    """Of the last run."""
    measured: dict[int, Any] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """The function or kernel in messages."""
        return f"kernel @{self.name}" if self.is_kernel else f"@{self.name}"

    @property
    def described(self) -> str:
        """The kind of input in messages."""
        return f"{self.kind} input" + (f" of sizes {self.sizes}" if self.sizes not in ("", "equal") else "")

    @property
    def is_finite(self) -> bool:
        """Whether no input has an infinity or a NaN."""
        return all(x.dtype.kind not in "fc" or bool(np.isfinite(x).all()) for x in self.inputs)

    def is_in(self, module: ModuleOp) -> bool:
        """Whether a module still has the function or kernel of this case."""
        return kernel_named(module, self.name) is not None if self.is_kernel else self.name in functions_of(module)

    def run(
        self,
        module: ModuleOp,
        inputs: Sequence[np.ndarray],
        limit: int | None,
        make: Make = Interpreter,
        kept: dict[Any, Interpreter] | None = None,
    ) -> Any:
        """Its results in a module, then the values passed to effects; `kept` are interpreters of the module as it is.

        Raises:
            InterpreterError: it cannot be run.
        """
        kept = {} if kept is None else kept
        try:
            if self.is_kernel:

                def remembered(module: ModuleOp) -> Interpreter:
                    kept[self.name] = made = make(module, limit, None)
                    return made

                return run_kernel(module, self.name, inputs, remembered)
            return run_function(module, self.name, inputs, limit, make, kept)
        except (InterpreterError, RecursionError):
            raise
        except LaminaError as error:
            raise InterpreterError(str(error)) from error
        finally:
            if kept and limit is not None:
                self.iterations = int(limit - next(reversed(kept.values())).iterations_left)

    def perturbed(self, inputs: Sequence[np.ndarray], limit: int) -> Callable[[int, np.random.Generator], Any]:
        """Runs of the origin with perturbed roundings."""
        origin = self.origin
        assert origin is not None

        def run(sign: int, rng: np.random.Generator) -> Any:
            try:
                return self.run(origin, inputs, limit, lambda m, n, p: Perturbed(m, n, p, sign, rng))
            except InterpreterError:
                return None

        return run


def kernel_named(module: ModuleOp, name: str) -> KernelOp | None:
    """A kernel of a module."""
    kernels = (op for op in module.body.block.ops if isinstance(op, KernelOp))
    return next((kernel for kernel in kernels if kernel.sym_name.data == name), None)


def run_function(
    module: ModuleOp,
    name: str,
    inputs: Sequence[np.ndarray],
    limit: int | None,
    make: Make = Interpreter,
    kept: dict[Any, Interpreter] | None = None,
) -> tuple[np.ndarray, ...]:
    """Results of a function, then the values passed to its effects; a failing assertion does not end the run."""
    happened: list[np.ndarray] = []

    def note(site: Site, operands: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        if results:
            raise InterpreterError(f"callback {site.text}() is known to what traced it alone")
        happened.append(np.frombuffer(f"{site.kind} {site.text}".encode(), np.uint8))
        happened.extend(np.array(operand) for operand in operands)

    return (*interpret(module, name, inputs, limit, note, make, kept), *happened)


def run_kernel(
    module: ModuleOp, name: str, inputs: Sequence[np.ndarray], make: Callable[[ModuleOp], Interpreter]
) -> tuple[np.ndarray, ...]:
    """The arrays that a kernel writes, afterwards."""
    kernel = kernel_named(module, name)
    if kernel is None:
        raise InterpreterError(f"no kernel @{name} in the module")
    interface = Interface(kernel)
    if len(interface.parameters) != len(inputs):
        raise InterpreterError(f"kernel @{name} takes {len(interface.parameters)} arguments, got {len(inputs)}", kernel)
    sizes = Sizes(interface)
    arrays = [np.array(x) if p.writes else x for x, p in zip(inputs, interface.parameters, strict=True)]
    for parameter, array in zip(interface.parameters, arrays, strict=True):
        sizes.bind(parameter, tensor(parameter.element, array.shape))
    given, rest = iter(arrays), iter(sizes.values)
    values = [next(rest if isinstance(a.type, IndexType) else given) for a in kernel.body.block.args]
    scalars = [
        x[()] if not isinstance(a.type, MemRefType) and isinstance(x, np.ndarray) else x
        for a, x in zip(kernel.body.block.args, values, strict=True)
    ]
    make(module).launch(name, scalars)
    return tuple(x for x, p in zip(arrays, interface.parameters, strict=True) if p.writes)


# Inputs


def cases_of(module: ModuleOp, seeds: Sequence[int], skip: Skip) -> list[Case]:
    """The cases of a module: of its public functions, and of its kernels that nothing launches."""
    found: list[Case] = []
    for name, function in functions_of(module).items():
        if function.sym_visibility == _PRIVATE:
            continue
        try:
            opened = any(not isinstance(n, int) or n == DYNAMIC for s, _ in _declared(function) for n in s)
        except (KeyError, AttributeError, TypeError):
            skip(f"@{name}", "its arguments are not of types that can be generated")
            continue
        if not inputs_of(function) and not function.body.block.ops:
            continue
        found += _cases(name, False, opened, lambda pool, f=function: _specs(f, pool), seeds, skip)
    launched = {
        op.properties["kernel"].string_value()  # pyright: ignore[reportAttributeAccessIssue]
        for op in module.walk()
        if op.name in ("loop.launch", "graph.kernel")
    }
    for kernel in [op for op in module.body.block.ops if isinstance(op, KernelOp)]:
        name = kernel.sym_name.data
        if name in launched:
            continue
        try:
            interface = Interface(kernel)
            for parameter in interface.parameters:
                numpy_dtype(parameter.element)
        except (LaminaError, KeyError, AttributeError, TypeError) as error:
            skip(f"kernel @{name}", f"no inputs can be made from its signature: {error}")
            continue
        found += _cases(name, True, bool(interface.names), lambda pool, i=interface: _kernel_specs(i, pool), seeds, skip)
    return found


def _cases(name: str, is_kernel: bool, opened: bool, specs: Any, seeds: Sequence[int], skip: Skip) -> Iterator[Case]:
    subject = f"kernel @{name}" if is_kernel else f"@{name}"
    for label, pool in SIZES.items() if opened else [("", (3,))]:
        try:
            shapes = specs(pool)
        except (LaminaError, ValueError):
            continue  # no such sizes
        if sum(math.prod(shape) for shape, _ in shapes) > MAX_ELEMENTS:
            skip(subject, f"more than {MAX_ELEMENTS} elements")
            return
        for seed in seeds:
            for kind in KINDS if label in ("", "equal") else KINDS[:1]:
                rng = np.random.default_rng((seed, KINDS.index(kind), *pool[:1]))
                inputs = [generate(dtype, shape, kind, rng) for shape, dtype in shapes]
                yield Case(name, is_kernel, kind, label, seed, inputs)


def _declared(function: Any) -> list[tuple[tuple[Any, ...], np.dtype[Any]]]:
    """The shapes and dtypes of the inputs, sizes as numbers, symbols, or DYNAMIC."""
    found: list[tuple[tuple[Any, ...], np.dtype[Any]]] = []
    for argument in inputs_of(function):
        shape, dtype = shape_and_dtype(argument.type)
        if isinstance(function, program.FuncOp):
            meant = dict(zip(function.sizes, function.meant_sizes(), strict=True))
            shape = tuple(n if isinstance(n, int) else meant[n] for n in function.sizes_of(argument))
        found.append((shape, dtype))
    return found


def _specs(function: Any, pool: Sequence[int]) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    chosen: dict[Any, int] = {}

    def number(key: Any) -> int:
        return chosen.setdefault(key, pool[len(chosen) % len(pool)])

    def of_symbol(symbol: Symbol) -> int:
        wanted = max(symbol.low, number(symbol.name))
        rounded = -(-wanted // symbol.multiple) * symbol.multiple
        return rounded if symbol.high is None else min(rounded, symbol.high)

    found: list[tuple[tuple[int, ...], np.dtype[Any]]] = []
    for k, (shape, dtype) in enumerate(_declared(function)):
        sizes = [number((k, d)) if n == DYNAMIC else int(substituted(n, of_symbol)) for d, n in enumerate(shape)]
        found.append((tuple(sizes), dtype))
    return found


def _kernel_specs(interface: Interface, pool: Sequence[int]) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shapes with a number for each size of a kernel; strides follow from them."""
    symbols: dict[int, int] = {}
    found: list[tuple[tuple[int, ...], np.dtype[Any]]] = []
    for parameter in interface.parameters:
        shape: list[int] = []
        for dim in interface.dims(parameter)[0]:
            if dim.symbol is None:
                shape.append(dim.constant)
                continue
            if dim.symbol not in symbols:
                symbols[dim.symbol] = max(pool[len(symbols) % len(pool)], -dim.constant)
            shape.append(symbols[dim.symbol] + dim.constant)
        if any(n < 0 for n in shape):
            raise ValueError("negative size")
        found.append((tuple(shape), numpy_dtype(parameter.element)))
    return found
