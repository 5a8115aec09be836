"""Runs ONNX's own backend tests in this process: reads `kind name` lines, writes one JSON line for each when it is done."""

from __future__ import annotations

import glob
import json
import os
import sys
import warnings
from typing import Any

import lamina as lm
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader

UNITS = 2
"""Differences of float16 and bfloat16 results that count as equal, in units of the last place: ONNX's results were rounded
after each step of an op, ours once."""


def data_sets(case: Any) -> list[tuple[list[Any], list[Any]]]:
    """Inputs and outputs of a test, which are arrays or files."""
    if case.data_sets is not None:
        return [([_array(x) for x in i], [_array(x) for x in o]) for i, o in case.data_sets]
    found = []
    for folder in sorted(glob.glob(os.path.join(case.model_dir, "test_data_set_*"))):
        sides = []
        for side in ("input", "output"):
            paths = glob.glob(os.path.join(folder, f"{side}_*.pb"))
            sides.append([_loaded(p) for p in sorted(paths, key=lambda p: int(p.rpartition("_")[2][:-3]))])
        found.append((sides[0], sides[1]))
    return found


def _loaded(path: str) -> Any:
    with open(path, "rb") as file:
        data = file.read()
    tensor = onnx.TensorProto()
    tensor.ParseFromString(data)
    if tensor.data_type:
        return numpy_helper.to_array(tensor)
    sequence = onnx.SequenceProto()
    sequence.ParseFromString(data)
    return numpy_helper.to_list(sequence)


def _array(x: Any) -> Any:
    if isinstance(x, list):
        return [_array(v) for v in x]
    return numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x


def difference(got: Any, wanted: Any, rtol: float, atol: float) -> str:
    """How a result differs; empty if it does not."""
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            return "another sequence"
        return next(filter(None, (difference(g, w, rtol, atol) for g, w in zip(got, wanted, strict=True))), "")
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype == object:
        return "" if (got == wanted).all() else "other strings"
    if wanted.dtype.name in ("float16", "bfloat16"):
        rtol = max(rtol, UNITS * {"float16": 2.0**-10, "bfloat16": 2.0**-7}[wanted.dtype.name])
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    if wanted.dtype == np.float32 and wanted.size:  # what cancels is as wrong as the terms
        finite = wanted[np.isfinite(wanted)]
        atol = max(atol, UNITS * 2.0**-23 * float(np.abs(finite).max(initial=0)))
    a, b = got.astype(wide), wanted.astype(wide)
    bad = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    return f"{bad.sum()} of {bad.size} elements" if bad.any() else ""


RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")


def is_random(graph: Any) -> bool:
    """Whether a graph draws random numbers, of which ONNX fixes types and shapes alone."""
    return any(n.op_type in RANDOM or (n.op_type == "Dropout" and len(n.input) > 2) for n in graph.node)


def run(case: Any) -> tuple[str, str]:
    """What became of a test, and why."""
    try:
        path = os.path.join(case.model_dir, "model.onnx") if case.model is None else case.model.SerializeToString()
        function = lm.from_onnx(path)
        for inputs, outputs in data_sets(case):
            got = function(*inputs)
            results = list(got) if len(function.outputs) > 1 else [got]
            for result, wanted in zip(results, outputs, strict=True):
                said = difference(result, wanted, case.rtol, case.atol)
                if said and is_random(function.model.proto.graph):
                    said = "" if result.shape == wanted.shape and result.dtype == wanted.dtype else said
                if said:
                    return "wrong", said
    except lm.LaminaError as error:
        return "unsupported", str(error)
    except Exception as error:  # anything else is a fault of ours, to be reported as one
        return "crash", f"{type(error).__name__}: {error}"
    return "pass", ""


def main() -> None:
    warnings.simplefilter("ignore")
    lines = [line.split() for line in sys.stdin]
    cases = {(kind, c.name): c for kind in {k for k, _ in lines} for c in loader.load_model_tests(kind=kind)}
    print("ready", flush=True)
    for kind, name in lines:
        became, why = run(cases[kind, name])
        print(json.dumps([f"{kind} {name}", [[became, why[:300]]]]), flush=True)


if __name__ == "__main__":
    main()
