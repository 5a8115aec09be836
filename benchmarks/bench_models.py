"""Whole models beside onnxruntime: ten networks with random weights, read from the same ONNX files.

Each network of `tests/interop/torch/models.py` is written as a file by torch's own exporter; `resnet18-int8` is ResNet-18 after
`onnxruntime.quantization.quantize_static` (pairs of QuantizeLinear and DequantizeLinear, unsigned activations, signed weights
per channel). Each is measured in a process of its own, which compares the results and then takes turns: medians of a call with
a batch of one, and the time from the file to the first result, ours from a warm cache on disk, after a model of one node.

    python benchmarks/bench_models.py [--threads 1] [--rounds 15] [--small] [NAME ...]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measure import readable
from rich.console import Console
from rich.table import Table

PAUSE, BATCH = 0.1, 0.05
"""Seconds between turns, and of a turn."""
ROOT = Path(__file__).resolve().parent.parent
NAMES = ("mlp", "resnet18", "resnet50", "mobilenet_v3", "vit", "bert", "gpt2", "lstm", "unet", "detector", "resnet18-int8")


def write_model(name: str, folder: Path, small: bool) -> None:
    """Write a network as `model.onnx`, with its inputs and torch's results for a batch of one as `io.npz`."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "interop" / "torch")]
    import torch
    from models import FULL, SMALL

    torch.manual_seed(0)
    example = (SMALL if small else FULL)[name.removesuffix("-int8")]
    module = example.model().eval()
    _settle(module, example)
    arguments = example.inputs(1)
    path = folder / "model.onnx"
    torch.onnx.export(module, arguments, str(path), opset_version=18, dynamo=False)
    inputs = [x.numpy() for x in torch.utils._pytree.tree_leaves(arguments)]
    if name.endswith("-int8"):
        _quantize(path, [example.inputs(1)[0].numpy() for _ in range(4)] + inputs)
    np.savez(folder / "io.npz", *inputs)


def _settle(module: Any, example: Any) -> None:
    """Statistics of the batch normalizations as after training, so that numbers neither vanish nor grow from layer to layer."""
    import torch

    module.train()
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, torch.nn.BatchNorm2d):
                layer.momentum = None
        for _ in range(2):
            module(*example.inputs(4))
    module.eval()


def _quantize(path: Path, images: Sequence[np.ndarray]) -> None:
    """Replace a model by its quantized form."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    name = onnx.load(path).graph.input[0].name

    class Images(CalibrationDataReader):
        def __init__(self) -> None:
            self.feeds = iter([{name: image} for image in images])

        def get_next(self) -> Any:
            return next(self.feeds, None)

    quant_pre_process(path, path)
    quantize_static(
        path,
        path,
        Images(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        extra_options={"QDQDisableWeightAdjustForInt32Bias": True},
    )


def measure(folder: Path, threads: int, rounds: int) -> dict[str, Any]:
    """Compare results, then seconds of a call and from the file to the first result, by peer."""
    import lamina as lm

    lm.set_threads(threads)
    _import_all(threads)
    path = str(folder / "model.onnx")
    io = np.load(folder / "io.npz")
    inputs = [io[key] for key in io.files]

    start = time.perf_counter()
    ours = lm.from_onnx(path)
    got = _leaves(ours(*inputs))
    first = {"lamina": time.perf_counter() - start}

    start = time.perf_counter()
    theirs, feed = _session(path, inputs, threads)
    first["onnxruntime"] = time.perf_counter() - start
    wanted = theirs.run(None, feed)
    worst = max((_distance(g, w) for g, w in zip(got, wanted, strict=True)), default=0.0)

    calls = {"lamina": lambda: ours(*inputs), "onnxruntime": lambda: theirs.run(None, feed)}
    return {"seconds": _in_turn(calls, rounds), "first": first, "worst": worst}


def _in_turn(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of a call; before each turn a pause, in which idle threads of the other one stop spinning."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(PAUSE)
            call()
            spent, count = 0.0, 0
            while spent < BATCH:
                start = time.perf_counter()
                call()
                spent, count = spent + time.perf_counter() - start, count + 1
            samples[name].append(spent / count)
    return {name: statistics.median(values) for name, values in samples.items()}


def _import_all(threads: int) -> None:
    """Run a model of one node with both, so that no time below is that of imports."""
    import lamina as lm
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()
    array = np.ones(2, np.float32)
    lm.from_onnx(model)(array)
    session, feed = _session(model, [array], threads)
    session.run(None, feed)


def _session(path: str | bytes, inputs: Sequence[np.ndarray], threads: int) -> tuple[Any, dict[str, np.ndarray]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session, {given.name: array for given, array in zip(session.get_inputs(), inputs, strict=True)}


def _leaves(results: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in (results if isinstance(results, tuple | list) else [results])]


def _distance(x: np.ndarray, y: np.ndarray) -> float:
    """The largest difference, as a part of the largest number."""
    if x.shape != y.shape:
        return float("inf")
    return float(np.max(np.abs(x.astype(float) - y), initial=0) / max(np.max(np.abs(y), initial=0), 1e-6))


def child(*arguments: str, **environment: str) -> str:
    """The last line that this file prints in a process of its own."""
    command = [sys.executable, __file__, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if run.returncode:
        lines = run.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"status {run.returncode}")
    return run.stdout.strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="NAME")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--small", action="store_true", help="networks of little width and depth")
    parser.add_argument("--write", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--measure", metavar="FOLDER", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write_model(given.names[0], Path(given.write), given.small)
        print("written")
        return
    if given.measure:
        print(json.dumps(measure(Path(given.measure), given.threads, given.rounds)))
        return
    table = Table(title=f"a call of a model with a batch of one, {given.threads} thread(s); first: from the file to a result")
    for name in ("model", "lamina", "onnxruntime", "ratio", "first: lamina", "onnxruntime", "difference"):
        table.add_column(name, justify="left" if name == "model" else "right")
    ratios = []
    for name in given.names:
        with tempfile.TemporaryDirectory() as folder:
            options = ["--threads", str(given.threads), "--rounds", str(given.rounds), *["--small"] * given.small]
            environment = {"LAMINA_CACHE_DIR": f"{folder}/cache"}
            try:
                child(name, "--write", folder, *options)
                for _ in range(2):  # the second finds a warm cache
                    found = json.loads(child(name, "--measure", folder, *options, **environment))
            except RuntimeError as error:
                table.add_row(name, str(error)[:60])
                continue
        ours, theirs = (found["seconds"][who] for who in ("lamina", "onnxruntime"))
        ratios.append(theirs / ours)
        first = [readable(found["first"][who]) for who in ("lamina", "onnxruntime")]
        table.add_row(name, readable(ours), readable(theirs), f"{theirs / ours:.2f}", *first, f"{found['worst']:.1e}")
        print(json.dumps({name: found}), file=sys.stderr, flush=True)
    Console().print(table)
    if ratios:
        print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
