"""The corpus: small programs as data, one table a group, and the arguments that they run on.

A line of a table is `name | arguments | expression | options`. An expression sees its arguments as `x, y, z, w`, the array
module as `np` and what else a framework has (`grad`, `nn`, `lax`, ...) as `jx`; longer programs are functions `f(np, jx,
*args)` in the same file. The same source runs with `jax.numpy` and `jax`, and with `lamina.numpy` and a handle to `lamina`
(worlds.py).
 An argument is a kind, a shape and a domain: `f[3,4]` floats of the dtype that is tested, `i[5]` int64, `j[5]` int32, `b[5]`
bool, `c[3]` complex. Domains are in `DOMAINS`; `=` repeats the argument before, so that ties and equal operands are met."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

GROUPS = Path(__file__).parent / "groups"
ARGUMENT = re.compile(r"([fijbc])\[([\d,]*)\](.*)")

SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -3.0, 1.5, 3.0)
UNIT = (0.0, -0.0, 0.5, -0.5, 0.25, -0.75, 0.9, -0.125)
EDGES = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 1e-30, 1e30, -70.0, 70.0, 3.5)
TAILS = (-90.0, -40.0, -14.0, -9.0, -6.0, -5.0, -3.0, -1.0, 1e-6, 4.0, 12.0, 60.0)
DOMAINS: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "": lambda rng, shape: rng.uniform(-3, 3, shape),
    "+": lambda rng, shape: rng.uniform(0.2, 3, shape),
    "u": lambda rng, shape: rng.uniform(-0.9, 0.9, shape),
    "1": lambda rng, shape: rng.uniform(1.1, 4, shape),
    "p": lambda rng, shape: rng.uniform(0.05, 0.95, shape),
    "s": lambda rng, shape: _choose(rng, SPECIAL, shape),
    "us": lambda rng, shape: _choose(rng, UNIT, shape),
    "1s": lambda rng, shape: _choose(rng, (1.0, 2.0, 1.5, 4.0), shape),
    "+s": lambda rng, shape: _choose(rng, (0.0, 1.0, 0.5, 2.0, 3.0), shape),
    "n": lambda rng, shape: _choose(rng, (1.0, -1.0, 2.0, -2.0, 0.5, -3.0), shape),
    "t": lambda rng, shape: _choose(rng, TAILS, shape),
    "e": lambda rng, shape: _choose(rng, EDGES, shape),
    "k": lambda rng, shape: rng.integers(-3, 4, shape),
    "k+": lambda rng, shape: rng.integers(0, 3, shape),
    "k1": lambda rng, shape: rng.integers(1, 7, shape),
    "perm": lambda rng, shape: rng.permutation(int(np.prod(shape))).reshape(shape),
}
"""How the numbers of an argument are drawn: float domains, then those of small whole numbers."""


def _choose(rng: np.random.Generator, values: tuple[float, ...], shape: tuple[int, ...]) -> np.ndarray:
    """All of the values where there is room for them, in an order that differs from argument to argument."""
    return np.resize(rng.permutation(np.array(values)), shape)


@dataclass(frozen=True)
class Program:
    """One program.

    Attributes:
        arguments: as in the module's docstring, with blanks between them.
        options: `value`: only values are compared (no derivative is defined, or it is at points where conventions differ);
            `novmap`: cannot be mapped; `once`: differentiated once; `tol=8`: tolerance times that much.
    """

    name: str
    arguments: str
    function: Callable[..., Any]
    options: frozenset[str] = frozenset()
    text: str = ""

    @property
    def group(self) -> str:
        return self.name.partition("/")[0]

    @property
    def tolerance(self) -> float:
        return next((float(option[4:]) for option in self.options if option.startswith("tol=")), 1.0)

    def digest(self) -> str:
        """Changes with the program and its arguments."""
        return f"{zlib.crc32(f'{self.arguments} {self.text} {sorted(self.options)}'.encode()):08x}"

    def dtypes(self, dtype: str) -> list[np.dtype] | None:
        """The dtypes of its results in NumPy, whose promotion is ours; None if NumPy does not run it."""
        try:
            with np.errstate(all="ignore"):
                results = self.function(np, None, *self.draw({"f32": "f4", "f64": "f8"}[dtype]))
        except Exception:  # what asks for more than NumPy has, or for what only jax takes
            return None
        leaves = list(results.values()) if isinstance(results, dict) else results
        leaves = leaves if isinstance(leaves, tuple | list) else [leaves]
        return [np.asarray(leaf).dtype for leaf in leaves]

    def draw(self, dtype: str, batch: int = 0) -> list[np.ndarray]:
        """Arguments; the same numbers for f32 and f64. `batch` of them are stacked along a dim in front."""
        if batch:
            rows = [self._draw(dtype, seed) for seed in range(1, batch + 1)]
            return [np.stack(column) for column in zip(*rows, strict=True)]
        return self._draw(dtype, 0)

    def _draw(self, dtype: str, seed: int) -> list[np.ndarray]:
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), seed])
        made: list[np.ndarray] = []
        for text in self.arguments.split():
            if text == "=":
                made.append(made[-1].copy())
                continue
            kind, sizes, domain = ARGUMENT.fullmatch(text).groups()  # pyright: ignore[reportOptionalMemberAccess]
            shape = tuple(int(n) for n in sizes.split(",") if n)
            default = "" if kind in "fc" else "k"
            values = DOMAINS[domain or default](rng, shape)
            if kind == "c":
                values = values + 1j * DOMAINS[domain or default](rng, shape)
            as_type = {"f": dtype, "i": "i8", "j": "i4", "b": "?", "c": "c8" if dtype == "f4" else "c16"}[kind]
            exact = values.astype("f4") if kind == "f" else values > 0 if kind == "b" else values
            made.append(np.asarray(exact, as_type))
        return made


def _compile(name: str, expression: str) -> Callable[..., Any]:
    return eval(f"lambda np, jx, x=None, y=None, z=None, w=None: ({expression})", {"__name__": name})


def _of_table(group: str, table: str) -> Iterator[Program]:
    for line in table.strip().splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, arguments, expression, *options = (part.strip() for part in re.split(r" \| ", line))
        flags = frozenset(options[0].split()) if options else frozenset()
        yield Program(f"{group}/{name}", arguments, _compile(name, expression), flags, expression)


@cache
def _load(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"conformance_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _of_functions(group: str, module: ModuleType) -> Iterator[Program]:
    """Functions whose docstring begins with `arguments` or `arguments | options`, in backquotes."""
    for name, function in vars(module).items():
        found = re.match(r"`([^`|]*)(?:\|([^`]*))?`", getattr(function, "__doc__", None) or "")
        if callable(function) and found is not None and getattr(function, "__module__", None) == module.__name__:
            options = frozenset((found[2] or "").split())
            yield Program(f"{group}/{name}", found[1], function, options, function.__code__.co_code.hex())


@cache
def corpus() -> Mapping[str, Program]:
    """All programs by name (`group/name`)."""
    programs: dict[str, Program] = {}
    for path in sorted(GROUPS.glob("*.py")):
        module = _load(path)
        for program in (*_of_table(path.stem, getattr(module, "TABLE", "")), *_of_functions(path.stem, module)):
            assert program.name not in programs, f"two programs are called {program.name}"
            programs[program.name] = program
    return programs
