"""A child process with lamina: imports the texts of a batch, runs and compares; a line of JSON for each case as it ends.

python with_lamina.py BATCH.npz SECONDS < numbers of harnesses
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

import lamina as lm
import ml_dtypes
import numpy as np

TOLERANCES = {
    "float16": 5e-3, "bfloat16": 4e-2, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9,
    "float8_e4m3fn": 0.13, "float8_e5m2": 0.26, "float8_e4m3b11fnuz": 0.13, "float8_e4m3fnuz": 0.13, "float8_e5m2fnuz": 0.26,
}  # fmt: skip
"""Relative error, and absolute error relative to the largest element."""

PHASES = {"eigh", "svd", "eig", "schur"}
"""Groups whose results have vectors that are determined up to a factor of length 1."""


class TimeLimit(BaseException):
    """A case takes longer than it may."""


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def _leaves(archive: Any, number: str, kind: str, dtypes: list[str]) -> list[np.ndarray]:
    found = []
    for k, name in enumerate(dtypes):
        array, dtype = archive[f"{number}:{kind}:{k}"], _dtype(name)
        found.append(array if array.dtype == dtype else array.view(dtype))
    return found


def difference(got: np.ndarray, wanted: np.ndarray, phases: bool) -> str | None:
    """What is wrong with a result; None if nothing is."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    tolerance = TOLERANCES.get(wanted.dtype.name)
    if tolerance is None:
        bad = int((got != wanted).sum())
        return f"{bad} of {wanted.size} elements differ" if bad else None
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    a, b = got.astype(wide), wanted.astype(wide)
    if phases:
        a, b = np.abs(a), np.abs(b)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        finite = np.abs(b[np.isfinite(b)])
        scale = min(float(np.max(finite, initial=0.0)), 1.0)
        close = np.abs(a - b) <= tolerance * (np.abs(b) + scale)
        bad = ~(same | close)
    if not bad.any():
        return None
    first = tuple(np.argwhere(bad)[0])
    where = f"{got[first]} instead of {wanted[first]} at {list(map(int, first))}"
    return f"{int(bad.sum())} of {bad.size} elements differ, first {where}"


def in_one_order(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Results of a sort that is not stable: rows that are equal in the keys stand in any order."""
    if len(arrays) < 2 or any(x.ndim != 1 or x.shape != arrays[0].shape for x in arrays):
        return [np.asarray(x) for x in arrays]
    order = np.lexsort([np.asarray(x) for x in reversed(arrays)])
    return [np.asarray(x)[order] for x in arrays]


def outcome(entry: dict[str, Any], archive: Any, number: str) -> tuple[str, str]:
    """Pass, unsupported, wrong, slow or crash, and the reason."""
    try:
        arguments = _leaves(archive, number, "argument", entry["argument"])
        got = lm.from_stablehlo("\n" + entry["text"])(*arguments)
    except TimeLimit:
        return "slow", "the limit of time"
    except lm.LaminaError as error:
        kind = "unsupported" if type(error).__name__ == "UnsupportedError" else "refused"
        return kind, str(error).strip().split("\n")[0].split(": ", 1)[-1][:200]
    except Exception as error:
        return "crash", f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error).strip() else ''}"
    results = list(got) if isinstance(got, tuple) else [got]
    wanted = _leaves(archive, number, "result", entry["result"])
    if len(results) != len(wanted):
        return "wrong", f"{len(results)} results instead of {len(wanted)}"
    if "is_stable = false" in entry["text"]:
        results, wanted = in_one_order(results), in_one_order(wanted)
    for k, (a, b) in enumerate(zip(results, wanted, strict=True)):
        if (what := difference(np.asarray(a), b, entry["group"] in PHASES)) is not None:
            return "wrong", f"result {k}: {what}"
    return "pass", ""


def main(path: str, seconds: int) -> None:
    """Run the batch."""

    def stop(*_: Any) -> None:
        raise TimeLimit

    signal.signal(signal.SIGALRM, stop)
    with np.load(path) as archive:
        report = json.loads(str(archive["report"]))
        for number in sys.stdin.read().split():
            entry = report[number]
            print(json.dumps([number, "start", ""]), flush=True)
            if "text" not in entry:
                kind, why = "skipped", entry["skipped"]
            else:
                signal.alarm(seconds)
                try:
                    kind, why = outcome(entry, archive, number)
                except TimeLimit:
                    kind, why = "slow", "the limit of time"
                signal.alarm(0)
            print(json.dumps([number, kind, why]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
