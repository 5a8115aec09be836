"""Valid programs that `--validate-each` must not blame: generated ones, with every pass and the machine code compared.

    python tests/debugging/valid_programs.py [COUNT [FIRST [SEEDS]]]     1,000 programs from seed 0 on, 3 seeds of inputs each

One line for each program that is blamed, then how many were run, compared, and passed over with the reason.
"""

from __future__ import annotations

import collections
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lamina import pipeline
from lamina.debugging.native import Native
from lamina.debugging.validate import Report, validate_each
from lamina.dialects.context import make_context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

sys.path.insert(0, str(Path(__file__).parent.parent))
from random_programs import Drawn


def program(seed: int) -> ModuleOp:
    """The graph of a generated program."""
    import lamina as lm

    drawn = Drawn(seed)
    return lm.jit(drawn, dynamic=drawn.dynamic).lower(*drawn.arrays(2, 2)).module.clone()


def validate(module: ModuleOp, seeds: int = 3, notes: list[str] | None = None, first: Sequence[ModulePass] = ()) -> Report:
    """Take a module to machine code, with every step compared, those of `first` before the others."""
    steps: list[Any] = [*first]
    steps += [step.make() for step in pipeline.steps_to(module, "program")]
    said: list[str] = [] if notes is None else notes
    return validate_each(module, steps, make_context(), 0, said.append, seeds=seeds, native=Native)


def main() -> None:
    count, first, seeds = (int(n) for n in [*sys.argv[1:], *("1000", "0", "3")[len(sys.argv) - 1 :]])
    blamed = runs = 0
    skipped: collections.Counter[str] = collections.Counter()
    for seed in range(first, first + count):
        notes: list[str] = []
        try:
            runs += validate(program(seed), seeds, notes).runs
        except Exception as error:
            blamed += 1
            print(f"program {seed}: {type(error).__name__}: {str(error)[:900]}", flush=True)
        skipped.update(note.partition(": ")[2][:60] for note in notes)
    print(f"{count} programs, {seeds} seeds: {runs} runs compared, {blamed} blamed; passed over: {dict(skipped)}")
    sys.exit(1 if blamed else 0)


if __name__ == "__main__":
    main()
