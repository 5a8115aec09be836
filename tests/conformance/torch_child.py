"""Runs samples of torch's own table of ops in this process: reads `op dtype` lines, writes one JSON line for each.

The table (`torch.testing._internal.common_methods_invocations.op_db`) has inputs and options for each op that torch's own tests
use. A sample is traced to ATen's ops by torch, computed by `lamina`, and compared with torch's result.
"""

from __future__ import annotations

import json
import sys
import types
import unittest
import warnings
from collections.abc import Iterator
from typing import Any

import lamina as lm
import numpy as np
import torch
from lamina.interop.torch.run import run_graph
from lamina.interop.torch.tensors import as_numpy
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

MOST, MOST_OF_OTHERS = 6, 3
"""Samples of an op in float32 and in another element type, spread over all that there are."""
LARGEST = 1 << 20
"""Most elements of an argument."""
TOLERANCES = {
    "float64": (1e-7, 2.0**-52), "complex128": (1e-7, 2.0**-52), "float16": (4e-3, 2.0**-10), "bfloat16": (4e-2, 2.0**-7),
}  # fmt: skip
"""The relative difference that counts as equal, and the unit in the last place, by element type; others are float32."""


def op_db() -> list[Any]:
    """torch's table; it needs only a class of a package that is not installed."""
    shim: Any = types.ModuleType("expecttest")
    shim.TestCase, shim.assert_expected_inline = unittest.TestCase, None
    sys.modules.setdefault("expecttest", shim)
    from torch.testing._internal import common_methods_invocations

    return common_methods_invocations.op_db


def names_of(table: list[Any]) -> dict[str, Any]:
    """Ops by `name.variant`, but those whose results are what memory holds."""
    return {f"{o.name}.{o.variant_test_name}".removesuffix("."): o for o in table if "empty" not in o.name}


def samples(op: Any, dtype: Any) -> list[Any]:
    """Some of the samples of an op."""
    torch.manual_seed(0)
    np.random.seed(0)
    found = [s for s in op.sample_inputs("cpu", dtype) if all(t.numel() <= LARGEST for t in tensors_of(s))]
    step = max(1, -(-len(found) // (MOST if dtype == torch.float32 else MOST_OF_OTHERS)))
    return found[::step]


def tensors_of(sample: Any) -> list[Any]:
    """The tensors among the arguments."""
    leaves, _ = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    return [x for x in leaves if isinstance(x, torch.Tensor)]


def traced(op: Any, sample: Any) -> tuple[Any, list[Any]]:
    """A sample as a function of its tensors, and these."""
    leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]

    def function(*tensors: Any) -> Any:
        filled = list(leaves)
        for i, t in zip(places, tensors, strict=True):
            filled[i] = t
        first, args, kwargs = pytree.tree_unflatten(filled, structure)
        made, _ = pytree.tree_flatten(op.op(first, *args, **kwargs))
        return tuple(x for x in made if isinstance(x, torch.Tensor))

    return function, [leaves[i].detach() for i in places]


VECTORS = ("svd", "eigh", "linalg.eig", "pca_lowrank", "svd_lowrank")
"""Ops with vectors that are determined up to a factor of length 1."""


def difference(got: Any, wanted: Any) -> str:
    """How a result differs; empty if it does not."""
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind in "biu":
        bad = got != wanted
        return f"{bad.sum()} of {bad.size} elements" if bad.any() else ""
    rtol, unit = TOLERANCES.get(wanted.dtype.name, (1e-4, 2.0**-23))
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    a, b = got.astype(wide), wanted.astype(wide)
    largest = np.abs(b[np.isfinite(b)]).max(initial=0)  # what cancels is as wrong as the terms
    bad = ~np.isclose(a, b, rtol=rtol, atol=16 * unit * float(largest) + 1e-30, equal_nan=True)
    if not bad.any():
        return ""
    k = tuple(np.argwhere(bad)[0])
    return f"{bad.sum()} of {bad.size} elements, first {a[k]} for {b[k]}"


def run(op: Any, sample: Any) -> tuple[str, str]:
    """What became of a sample, and why."""
    function, tensors = traced(op, sample)
    try:
        wanted = [as_numpy(t) for t in function(*[t.clone() for t in tensors])]
        # decompositions may write in place, so there are two steps
        graph = make_fx(function, decomposition_table=DECOMPOSITIONS, tracing_mode="fake")(*tensors)
        graph = make_fx(torch.func.functionalize(graph), tracing_mode="fake")(*tensors)
    except Exception as error:  # torch's own reasons are of many classes
        return "not traced", f"{type(error).__name__}: {str(error)[:200]}"
    try:
        compiled = lm.jit(lambda *arrays: tuple(run_graph(graph, arrays)), capture="trace")
        got = compiled(*[as_numpy(t) for t in tensors])
    except lm.LaminaError as error:
        return "unsupported", str(error)[:300]
    except Exception as error:  # a crash, whatever its class
        return "crash", f"{type(error).__name__}: {str(error)[:300]}"
    if op.name in VECTORS or op.name.removeprefix("linalg.") in VECTORS:
        got, wanted = [np.abs(g) for g in got], [np.abs(w) for w in wanted]
    why = [difference(np.asarray(g), w) for g, w in zip(got, wanted, strict=True)]
    found = next(filter(None, why), "")
    return ("wrong", found) if found else ("pass", "")


DECOMPOSITIONS = torch._decomp.core_aten_decompositions()


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    table = names_of(op_db())
    print("ready", flush=True)
    for line in sys.stdin:
        name, dtype = line.split()
        print(json.dumps([line.strip(), list(outcomes(table[name], getattr(torch, dtype)))]), flush=True)


def outcomes(op: Any, dtype: Any) -> Iterator[tuple[str, str]]:
    """What became of each sample."""
    try:
        found = samples(op, dtype)
    except Exception as error:  # samples that need what this machine does not have
        yield "not traced", f"samples: {type(error).__name__}: {str(error)[:100]}"
        return
    for sample in found:
        yield run(op, sample)


if __name__ == "__main__":
    main()
