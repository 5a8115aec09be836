"""Runs programs with one set of names, in a process of its own: `child.py jax|lamina OUTPUT < names`.

The output is a `.npz` of the leaves of every result, `name:dtype:mode:execution:k`, and `report`: JSON that says of each
`name:dtype:mode:execution` what was raised, or nothing. All modes of a program are compiled as one function, since compiling is
what takes the time; where that raises, each mode is run by itself.

jax computes in float64, from numbers that are float32: the truth for both dtypes. Of float32 it gives values alone, as
rounding decides what some integers are, and random numbers differ.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from modes import DERIVATIVES, DTYPES, MODES, arguments, modes_of
from programs import Program, corpus
from worlds import Missing, World, jax_world, our_world

Run = Callable[[Callable[..., Any], Sequence[Any]], Any]
Outcome = list[np.ndarray] | str

_ARRAYS = {
    **dict.fromkeys(("Tracer", "ndarray", "float32", "float64", "int32", "int64", "bool"), "array"),
    **{"Elements": "array.at[]", "function": "function"},
}
"""Whose attributes are public names, and what they are called; a function has a name, as of `np.add.reduce`."""
_MISSING = {
    r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'": r"\1(\2=)",
    r"unsupported operand type\(s\) for (\S+): 'Tracer'": r"array.operator\1",
    r"complex\d+ is not supported|got complex: ": "complex",
}
"""What is said where an option, an operator or a dtype is not there."""


def failure(error: BaseException) -> str:
    """What was raised, in a line; of a name that is not there, which one."""
    text = str(error).partition("\n")[0]
    if isinstance(error, Missing):
        return f"missing: {error}"
    if isinstance(error, AttributeError) and (owner := _ARRAYS.get(type(error.obj).__name__)) is not None:
        return f"missing: {getattr(error.obj, '__name__', owner)}.{error.name}"
    for pattern, name in _MISSING.items():
        if (found := re.search(pattern, text)) is not None:
            return "missing: " + found.expand(name)
    return f"raises {type(error).__name__}: {text}"[:200]


def _array(leaf: Any) -> np.ndarray:
    array = np.asarray(leaf)
    return array.copy() if array.dtype.kind in "fiubc" else array.astype(np.float32)


def _has_floats(outcome: Outcome) -> bool:
    return isinstance(outcome, str) or any(leaf.dtype.kind == "f" for leaf in outcome)


def _separately(program: Program, world: World, dtype: str, modes: Sequence[str], run: Run) -> dict[str, Outcome]:
    """The modes one after the other; without floats among the values there are no derivatives."""
    outcomes: dict[str, Outcome] = {}
    for mode in modes:
        if mode in DERIVATIVES and not _has_floats(outcomes.get("value", "")):
            continue
        try:
            results = run(MODES[mode](program, world), arguments(program, mode, dtype))
            outcomes[mode] = [_array(leaf) for leaf in world.leaves(results)]
        except Exception as error:  # whatever a program raises is its outcome
            outcomes[mode] = failure(error)
    return outcomes


def _together(program: Program, world: World, dtype: str, modes: Sequence[str], run: Run) -> dict[str, Outcome]:
    """All modes as one function."""
    args = [arguments(program, mode, dtype) for mode in modes]
    first = list(np.cumsum([0, *map(len, args)]))

    def whole(*flat: Any) -> Any:
        return [MODES[mode](program, world)(*flat[first[k] : first[k + 1]]) for k, mode in enumerate(modes)]

    try:
        results = run(whole, [a for some in args for a in some])
    except Exception:
        return _separately(program, world, dtype, modes, run)
    return {mode: [_array(x) for x in world.leaves(result)] for mode, result in zip(modes, results, strict=True)}


def by_jax(program: Program, world: World) -> Mapping[str, Outcome]:
    """Keys are `dtype:mode`: everything in float64, values in float32."""

    def compiled(function: Callable[..., Any], args: Sequence[Any]) -> Any:
        return world.jit(function)(*map(world.np.asarray, args))

    wide = _together(program, world, "f64", modes_of(program), compiled)
    narrow = _separately(program, world, "f32", ["value"], compiled)
    return {f"f64:{mode}": outcome for mode, outcome in wide.items()} | {"f32:value": narrow["value"]}


def by_us(program: Program, world: World) -> Mapping[str, Outcome]:
    def compiled(function: Callable[..., Any], args: Sequence[Any]) -> Any:
        return world.jit(function)(*args)

    def eagerly(function: Callable[..., Any], args: Sequence[Any]) -> Any:
        return function(*map(world.np.asarray, args))

    made: dict[str, Outcome] = {}
    for dtype in DTYPES:
        eager = _separately(program, world, dtype, modes_of(program), eagerly)
        made |= {f"{dtype}:{mode}:eager": outcome for mode, outcome in eager.items()}
        jit = _together(program, world, dtype, list(eager), compiled)
        made |= {f"{dtype}:{mode}:jit": outcome for mode, outcome in jit.items()}
    return made


def main() -> None:
    kind, output = sys.argv[1], Path(sys.argv[2])
    warnings.simplefilter("ignore")
    execute = partial(by_jax, world=jax_world()) if kind == "jax" else partial(by_us, world=our_world())
    arrays: dict[str, np.ndarray] = {}
    report: dict[str, str] = {}
    with np.errstate(all="ignore"):
        for name in sys.stdin.read().split():
            output.with_suffix(".now").write_text(name)  # who it was, if the process dies
            report[f"text:{name}"] = corpus()[name].digest()
            for key, outcome in execute(corpus()[name]).items():
                report[f"{name}:{key}"] = outcome if isinstance(outcome, str) else ""
                if not isinstance(outcome, str):
                    arrays.update({f"{name}:{key}:{k}": leaf for k, leaf in enumerate(outcome)})
    with output.open("wb") as file:
        np.savez(file, report=np.array(json.dumps(report)), **arrays)  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main()
