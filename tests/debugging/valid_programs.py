"""Valid programs that `--validate-each` must not blame: generated ones, with every pass and the machine code compared.

    python tests/debugging/valid_programs.py                                  1,000 programs, 3 seeds of inputs each
    python tests/debugging/valid_programs.py --from 200 --count 100 --jobs 2
    python tests/debugging/valid_programs.py --log valid.jsonl                kept there; a second run continues

A line for each program that is blamed and for every 20 programs; at the end how many were run, compared, and passed over with
the reason. About 4 s of CPU a program.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import sys
import time
from collections.abc import Sequence
from functools import partial
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


def outcome(seed: int, seeds: int) -> dict[str, Any]:
    """What became of a program, as a line of the log."""
    start, notes = time.process_time(), list[str]()
    row: dict[str, Any] = {"program": seed, "seeds": seeds}
    try:
        report = validate(program(seed), seeds, notes)
        row |= {"runs": report.runs, "unchanged": report.unchanged}
    except Exception as error:
        row["blamed"] = f"{type(error).__name__}: {str(error)[:900]}"
    return row | {"notes": [note.partition(": ")[2][:60] for note in notes], "seconds": round(time.process_time() - start, 2)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Validate generated programs, none of which is wrong.")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first program")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3, help="of inputs, for each program")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=Path, help="a line of JSON for each program; those that it has are not run again")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    wanted = range(options.first, options.first + options.count)
    logged = options.log.read_text().splitlines() if options.log and options.log.exists() else []
    rows = {
        row["program"]: row for row in map(json.loads, logged) if row["seeds"] == options.seeds and row["program"] in wanted
    }
    rest = [seed for seed in wanted if seed not in rows]
    with multiprocessing.Pool(options.jobs, maxtasksperchild=50) as pool:
        for row in pool.imap_unordered(partial(outcome, seeds=options.seeds), rest):
            rows[row["program"]] = row
            if options.log:
                with options.log.open("a") as log:
                    log.write(json.dumps(row) + "\n")
            if "blamed" in row:
                print(f"program {row['program']}: {row['blamed']}", flush=True)
            if len(rows) % 20 == 0:
                print(f"{len(rows)} of {options.count}", flush=True)
    blamed = sum("blamed" in row for row in rows.values())
    total = collections.Counter[str]()
    skipped = collections.Counter[str]()
    for row in rows.values():
        total.update({key: row.get(key, 0) for key in ("runs", "unchanged", "seconds")})
        skipped.update(row["notes"])
    print(
        f"{len(rows)} programs, {options.seeds} seeds: {total['runs']} runs compared, {total['unchanged']} passes that changed "
        f"nothing, {blamed} blamed, {total['seconds']:.0f} s of CPU; passed over: {dict(skipped)}"
    )
    sys.exit(1 if blamed else 0)


if __name__ == "__main__":
    main()
