"""A child process with jax: the StableHLO of harnesses, arguments and jax's results, one `.npz` for a batch.

python with_jax.py OUTPUT.npz < numbers of harnesses
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np


def packed(array: Any) -> tuple[np.ndarray, str]:
    """An array as NumPy stores it without pickling, and its dtype."""
    array = np.asarray(array)
    if array.dtype.kind == "V" or array.dtype.name.startswith(
        ("bfloat", "float8", "float4", "float6", "int2", "int4", "uint2", "uint4")
    ):
        return array.view(f"u{array.dtype.itemsize}"), array.dtype.name
    return array, array.dtype.name


def main(output: str) -> None:
    """Write the file."""
    warnings.simplefilter("ignore")
    import jax

    jax.config.update("jax_enable_x64", True)
    from jax._src.internal_test_util import test_harnesses

    harnesses = test_harnesses.all_harnesses
    arrays: dict[str, np.ndarray] = {}
    report: dict[str, Any] = {}
    for number in map(int, sys.stdin.read().split()):
        harness = harnesses[number]
        entry: dict[str, Any] = {"name": harness.fullname, "group": harness.group_name}
        report[str(number)] = entry
        if not harness.filter("cpu"):
            entry["skipped"] = "jax does not implement it on CPUs"
            continue
        try:
            arguments = harness.dyn_args_maker(np.random.RandomState(0))
            function = jax.jit(harness.dyn_fun, keep_unused=True)
            entry["text"] = function.lower(*arguments).as_text()
            results = jax.tree.leaves(function(*arguments))
            for kind, leaves in (("argument", jax.tree.leaves(arguments)), ("result", results)):
                dtypes = []
                for k, leaf in enumerate(leaves):
                    if jax.dtypes.issubdtype(getattr(leaf, "dtype", np.dtype(float)), jax.dtypes.extended):
                        leaf = jax.random.key_data(leaf)
                    array, name = packed(leaf)
                    arrays[f"{number}:{kind}:{k}"] = array
                    dtypes.append(name)
                entry[kind] = dtypes
        except Exception as error:
            entry.pop("text", None)
            entry["skipped"] = (
                f"jax: {type(error).__name__}: {str(error).strip().splitlines()[0][:150] if str(error).strip() else ''}"
            )
    np.savez(output, report=np.array(json.dumps(report)), **arrays)


if __name__ == "__main__":
    main(sys.argv[1])
