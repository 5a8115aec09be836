"""Compile times: each row's kernel cold and from the cache on disk, programs of more and more distinct kernels, and
whole networks beside jax.

Measured in fresh processes, which have imported and used the compiler once before:

    python -m suite.compiling rows 1 NAME ...     # seconds that the first call takes longer than a later one, for each row
    python -m suite.compiling curve N             # seconds for a program of N kernels
    python -m suite.compiling fresh               # seconds of a process from `import lamina` to its first result
    python -m suite.compiling model 1 NAME jax.jit # seconds, and seconds of processors, that a network takes to compile

From the cache each row has a process of its own, so that none finds a part of the compiler imported because another row has
used it. The bytecode of all modules is there, as it is where the package was installed.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

COLD, CACHED, DOUBLING = 0.150, 0.005, 2.0  # the goals: seconds, seconds, times
COUNTS = (25, 50, 100, 200)
_TOUCHED = 256 << 20  # bytes, more than the results and temporaries of most rows


@dataclass
class CompileTimes:
    """Seconds by row, cold and from the cache, and by number of kernels."""

    cold: dict[str, float] = field(default_factory=dict)
    cached: dict[str, float] = field(default_factory=dict)
    curve: dict[int, float] = field(default_factory=dict)
    fresh: dict[str, float] = field(default_factory=dict)
    """Of a process that knows nothing: `cold` and `cached` seconds from the import to the first result of a small function."""
    models: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of each network, cold: seconds by library, and seconds of processors by `<library> CPU`."""

    @property
    def doublings(self) -> list[float]:
        """How many times as long each program takes as the one of half as many kernels."""
        times = [self.curve[n] for n in sorted(self.curve)]
        return [after / before for before, after in itertools.pairwise(times)]


def measure(
    rows: Sequence[str],
    folder: Path,
    counts: Sequence[int] = COUNTS,
    small: bool = False,
    rounds: int = 3,
    networks: Sequence[str] | None = None,
) -> CompileTimes:
    """Medians of rounds: this file run in processes of its own, with empty caches, then with what they have left there.

    Args:
        rows: of the table of times.
        folder: where the caches are.
        counts: of kernels in the programs of the curve.
        small: whether rows and networks have the sizes of tests.
        rounds: how often each is measured.
        networks: names of `models.MODELS`; None: all.
    """
    size = str(int(small))
    cold, cached, curve, fresh, models = [], [], [], [], []
    _write_bytecode()
    for r in range(rounds):
        cache = folder / f"rows-{r}"
        cold.append(_run(cache, "rows", size, *rows))
        cached.append({name: seconds for row in rows for name, seconds in _run(cache, "rows", size, row).items()})
        curve.append({n: _run(folder / f"curve-{n}-{r}", "curve", str(n)) for n in counts})
        fresh.append({when: _run(folder / f"fresh-{r}", "fresh") for when in ("cold", "cached")})
        models.append(_run_models(folder / f"models-{r}", size, networks))
    of_models = {name: _medians([found[name] for found in models]) for name in models[0]}
    return CompileTimes(_medians(cold), _medians(cached), _medians(curve), _medians(fresh), of_models)


def _run_models(folder: Path, size: str, networks: Sequence[str] | None) -> dict[str, dict[str, float]]:
    """Each network in processes of its own, by the libraries that are there in turn."""
    from .models import LIBRARIES, MODELS
    from .peers import PEERS

    libraries = [library for library in LIBRARIES if PEERS[library].version() is not None]
    found: dict[str, dict[str, float]] = {}
    for k, name in enumerate(MODELS if networks is None else networks):
        found[name] = {}
        for library in libraries:
            seconds, processors = _run(folder / str(k), "model", size, name, library)
            found[name] |= {library: seconds, f"{library} CPU": processors}
    return found


def _write_bytecode() -> None:
    """Compile the modules of the compiler, as installing it does: they are not read as source while they are measured."""
    import lamina

    for path in (lamina.__path__[0], str(Path(__file__).parent)):
        subprocess.run([sys.executable, "-m", "compileall", "-q", "-x", r"[/\\][.]venv[/\\]", path], check=False)


def _medians(rounds: Sequence[dict[Any, float]]) -> dict[Any, float]:
    return {key: statistics.median(times[key] for times in rounds) for key in rounds[0]}


def _run(cache: Path, *arguments: str) -> Any:
    """The JSON that this file prints when run with a cache folder."""
    environment = {**os.environ, "LAMINA_CACHE_DIR": str(cache)}
    environment.pop("LAMINA_CACHE", None)  # the measurement needs the cache
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "suite.compiling", *arguments]
    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def row_times(names: Sequence[str], small: bool) -> dict[str, float]:
    """For each row that compiles: seconds that the first call takes longer than later ones."""
    from .peers import Lamina
    from .rows import find

    times = {}
    for name in names:
        case = find(name).small if small else find(name).case
        inputs = case.make_inputs()
        try:
            times[name] = _first_call(Lamina.function(case), inputs)
        except Exception as error:  # a row that does not compile is a line of the other table
            print(f"{name}: {error}", file=sys.stderr)
    return times


def _first_call(function: Callable[..., Any], inputs: Sequence[np.ndarray]) -> float:
    """How many seconds a first call takes longer than a later one whose results get new memory, too."""
    import lamina as lm

    limit = lm.get_result_pool().limit_bytes
    lm.set_result_pool(limit_bytes=0)  # every call faults its pages in
    np.ones(
        _TOUCHED // 4, np.float32
    )  # and finds some that are back with the system: a virtual machine is slow to get new ones
    times = []
    for _ in range(4):
        start = time.perf_counter()
        function(*inputs)
        times.append(time.perf_counter() - start)
    lm.set_result_pool(limit_bytes=limit)
    return max(0.0, times[0] - statistics.median(times[1:]))


def curve_time(count: int) -> float:
    """Seconds to compile a program of `count` kernels, none like another.

    The widths of the matrices are as many different ones between 40 and 240, for each count alike: wide kernels have more code.
    """
    import lamina as lm
    import lamina.numpy as lnp

    def program(*matrices: Any) -> list[Any]:
        return [lnp.sum(lnp.tanh(x * float(k + 1)), axis=1) for k, x in enumerate(matrices)]

    inputs = [np.ones((8, 40 + 200 * k // count), np.float32) for k in range(count)]
    return _first_call(lm.jit(program), inputs)


def fresh_time() -> float:
    """Seconds from the import of lamina to the first result of a function, NumPy being there."""
    start = time.perf_counter()
    import lamina as lm

    lm.jit(lambda x: x * x + 1)(np.ones(8, np.float32))
    return time.perf_counter() - start


def model_time(name: str, library: str, small: bool) -> tuple[float, float]:
    """Seconds, and seconds of processors, that the first call of a network takes longer than later ones."""
    from .models import MODELS

    model = MODELS[name]
    arguments = model.arguments(small)
    if library == "lamina":
        import lamina as lm

        _warm_up()
        function = lm.jit(model.write(library))

        def call() -> None:
            function(*arguments)

    else:
        import jax

        jax.jit(lambda x: x * x + 1)(np.ones(3, np.float32)).block_until_ready()
        function, arguments = jax.jit(model.write(library)), jax.device_put(arguments)

        def call() -> None:
            jax.block_until_ready(function(*arguments))

    times = []
    for _ in range(4):
        start, spent = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - start, time.process_time() - spent))
    first, *later = times
    seconds, processors = (first[k] - statistics.median(each[k] for each in later) for k in (0, 1))
    return seconds, processors


def _warm_up() -> None:
    """Import what every compilation needs, and make the thread runtime."""
    import lamina as lm

    from . import kernels

    lm.jit(lambda x: x * x + 1)(np.ones(1 << 20, np.float32))
    kernels.double(np.ones(3, np.float32))


def main() -> None:
    what, *rest = sys.argv[1:]
    if what == "fresh":
        print(json.dumps(fresh_time()))
        return
    if what == "model":
        print(json.dumps(model_time(rest[1], rest[2], rest[0] == "1")))
        return
    _warm_up()
    print(json.dumps(row_times(rest[1:], rest[0] == "1") if what == "rows" else curve_time(int(rest[0]))))


if __name__ == "__main__":
    main()
