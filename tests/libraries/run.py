"""Runs programs on libraries that are written for jax, with jax and with lamina in its place: `make libraries`.

Each file of `programs/` is of one library: its `PROGRAMS` are functions without arguments by name, whose results are trees of
arrays. The libraries are as their authors publish them. Each file runs in two processes, one of which imports the package `jax`
of `stand_in/`. Results are equal if shapes and dtypes are, integers to the bit, and floats as far as float32 goes. What differs
from jax, or fails with lamina alone, is printed, and the run fails unless `known.txt` has it with a reason.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
KNOWN = HERE / "known.txt"
SECONDS = 120
"""What a program takes at most."""
RTOL, ATOL = 2e-3, 2e-4
"""Of float32 after some steps of an optimizer or a sampler; the second of the greatest element."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="files of programs/, all by default")
    parser.add_argument("--child", choices=("jax", "lamina"), help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _child(options.names[0], options.child, Path(options.out))
        return 0
    known = _known()
    failed = 0
    for name in options.names or sorted(path.stem for path in PROGRAMS.glob("*.py")):
        ours, theirs = (_results(name, who) for who in ("lamina", "jax"))
        wrong = {key: text for key in theirs if (text := _difference(ours[key], theirs[key])) is not None}
        for key, text in wrong.items():
            reason = known.get(f"{name}.{key}")
            print(f"{name}.{key}: {text}" + ("" if reason is None else f"  (known: {reason})"))
            failed += reason is None
        print(f"{name}: {len(theirs) - len(wrong)} of {len(theirs)} as with jax", flush=True)
    return int(failed > 0)


def _known() -> dict[str, str]:
    lines = [line.split("#")[0].strip() for line in KNOWN.read_text().splitlines()]
    return {name.strip(): reason.strip() for line in lines if line for name, _, reason in [line.partition(":")]}


def _results(name: str, who: str) -> dict[str, Any]:
    """What became of the programs of a file: lists of arrays, or the text of an error."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_backend_optimization_level=0"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.npz"
        command = [sys.executable, str(HERE / "run.py"), name, "--child", who, "--out", str(out)]
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name} with {who}: {done.stderr[-2000:]}")
        with np.load(out) as arrays:
            summary = json.loads(str(arrays["summary"]))
            return {
                key: found if isinstance(found, str) else [(dtype, arrays[f"{key}/{k}"]) for k, dtype in enumerate(found)]
                for key, found in summary.items()
            }


def _child(name: str, who: str, out: Path) -> None:
    sys.path[:0] = [str(HERE / "stand_in")] if who == "lamina" else []
    sys.path.append(str(PROGRAMS))
    import jax

    module: ModuleType = __import__(name)
    signal.signal(signal.SIGALRM, _too_long)
    summary: dict[str, list[str] | str] = {}
    arrays: dict[str, np.ndarray] = {}
    for key, program in module.PROGRAMS.items():
        signal.alarm(SECONDS)
        try:
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(program())]
            summary[key] = [leaf.dtype.name for leaf in leaves]
            arrays |= {f"{key}/{k}": x if x.dtype.kind != "V" else x.astype(np.float32) for k, x in enumerate(leaves)}
        except Exception as error:  # the libraries' own, too
            summary[key] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        finally:
            signal.alarm(0)
    np.savez(out, summary=np.asarray(json.dumps(summary)), **arrays)  # pyright: ignore[reportArgumentType]


def _too_long(*args: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def _difference(ours: Any, theirs: Any) -> str | None:
    """How results differ; None where they are equal, or the program fails with jax, too."""
    if isinstance(theirs, str):
        return None
    if isinstance(ours, str):
        return ours
    if len(ours) != len(theirs):
        return f"{len(ours)} arrays for {len(theirs)}"
    for k, ((dtype, got), (wanted, want)) in enumerate(zip(ours, theirs, strict=True)):
        if (dtype, got.shape) != (wanted, want.shape):
            return f"array {k} is {dtype}{list(got.shape)} for {wanted}{list(want.shape)}"
        if want.dtype.kind not in "fc":
            if not np.array_equal(got, want):
                return f"array {k} differs: {np.ravel(got)[:4]} for {np.ravel(want)[:4]}"
            continue
        greatest = np.max(np.abs(want), where=np.isfinite(want), initial=1e-3)
        if not np.allclose(got, want, RTOL, ATOL * greatest, equal_nan=True):
            return f"array {k} differs: {np.ravel(got)[:4]} for {np.ravel(want)[:4]}"
    return None


if __name__ == "__main__":
    sys.exit(main())
