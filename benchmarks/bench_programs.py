"""Compile times of whole programs beside jax: first calls, in processes that have compiled something else before.

The programs are those of `tests/libraries/programs/whole_programs.py`, which `make libraries` compares with jax. Each is run
with both libraries in turn, with no cache on disk: medians of the rounds, in seconds of wall time and of processors.

    python benchmarks/bench_programs.py [--rounds 3] [NAME ...]
    python benchmarks/bench_programs.py --profile NAME     # the passes of our compilation, by their share
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

LIBRARIES = Path(__file__).resolve().parent.parent / "tests" / "libraries"
WHO = ("lamina", "jax")


def first_call(name: str, who: str, profile: bool = False) -> None:
    """Print what the first call of a program takes with one of the libraries: seconds, and seconds of processors."""
    sys.path[:0] = [str(LIBRARIES / "stand_in")] if who == "lamina" else []
    sys.path.append(str(LIBRARIES / "programs"))
    import jax
    import numpy as np
    from whole_programs import CASES

    np.asarray(jax.jit(lambda x: x @ x + 1)(np.ones((3, 3), np.float32)))
    function, arguments = CASES[name]()
    shares = _shares() if profile else Counter[str]()
    start, start_cpu = time.perf_counter(), time.process_time()
    for leaf in jax.tree.leaves(jax.jit(function)(*arguments)):
        np.asarray(leaf)
    seconds, seconds_cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(json.dumps((seconds, seconds_cpu)))
    for part, taken in shares.most_common(12):
        print(f"{taken / seconds_cpu:6.1%} {part}")


def _shares() -> Counter[str]:
    """Fills with the seconds of processors that the parts of a compilation take, each without those inside of it."""
    from lamina import pipeline
    from lamina.codegen import compile as codegen
    from lamina.frontend.run import specializations
    from lamina.lowering.llvm.emit import ModuleWriter

    shares: Counter[str] = Counter()
    inside = threading.local()

    def timed(function: Any, name: str | None) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            start, before, inside.seconds = time.thread_time(), getattr(inside, "seconds", 0.0), 0.0
            try:
                return function(*args, **kwargs)
            finally:
                seconds = time.thread_time() - start
                shares[name or args[0].name] += seconds - inside.seconds
                inside.seconds = before + seconds

        return run

    for step in pipeline.STEPS:
        kind: Any = type(step.make())
        part = "schedule" if hasattr(kind, "schedule") else "apply"
        if not hasattr(getattr(kind, part), "is_timed"):
            setattr(kind, part, timed(getattr(kind, part), None))
            getattr(kind, part).is_timed = True
    specializations.trace_function = timed(specializations.trace_function, "trace")
    # a kernel is written as soon as it is scheduled
    ModuleWriter.write_ahead = timed(ModuleWriter.write_ahead, "text of LLVM IR")
    codegen.compile_object = timed(codegen.compile_object, "LLVM (also on other threads)")
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="all by default")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="which parts of our compilation take how long")
    parser.add_argument("--child", choices=WHO, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child or options.profile:
        os.environ["LAMINA_CACHE"] = "0"
        first_call(options.names[0], options.child or "lamina", options.profile)
        return
    print(f"{'seconds (of processors)':26} {'lamina':>15} {'jax':>15}  ratio")
    for name in options.names or _names():
        taken: dict[str, list[list[float]]] = {who: [] for who in WHO}
        for k in range(options.rounds):
            for who in WHO[:: 1 - 2 * (k % 2)]:
                taken[who].append(_measured(name, who))
        seconds, cpu = ({who: statistics.median(row[k] for row in taken[who]) for who in WHO} for k in range(2))
        each = " ".join(f"{seconds[who]:7.2f} ({cpu[who]:5.2f})" for who in WHO)
        print(f"{name:26} {each}  {seconds['lamina'] / seconds['jax']:.2f} ({cpu['lamina'] / cpu['jax']:.2f})", flush=True)


def _names() -> list[str]:
    command = [sys.executable, "-c", "import whole_programs; print(*whole_programs.CASES)"]
    paths = os.pathsep.join(str(LIBRARIES / folder) for folder in ("stand_in", "programs"))
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split()


def _measured(name: str, who: str) -> list[float]:
    command = [sys.executable, __file__, name, "--child", who]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
