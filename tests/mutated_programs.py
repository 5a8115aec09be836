"""Mutated models of ONNX and texts of StableHLO: each is read, or refused with a node or line and a reason.

python tests/mutated_programs.py onnx|stablehlo FILE [COUNT]

FILE has a line of JSON for each seed that was tried; a run continues after the last one. A case is a fault if it ends the
process, raises anything but an error of ours or one that does not say where, takes more than 2 s of processor time or 1 GB, or
opens a file outside of the folder of the model.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import select
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent
SECONDS, MEGABYTES = 2.0, 1000
MOST_ADDRESSES = 8 << 30
"""Bytes that a child process may map: a fault must not take the machine with it."""
LONGEST = 120
"""Seconds of the clock after which a process is taken for hung."""
NUMBERS = (0, 1, -1, 2, 3, 7, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63))
SECRET = "secret.bin"
"""A file beside the folder of the model."""
PLACE = {
    "onnx": re.compile(r"\b(node|initializer|value|graph|attribute|model|function|input|output|tensor|opset|dim|external)\b"),
    "stablehlo": re.compile(r":\d+:\d+|line \d+"),
}
"""What a message says of the place: a part of the model, or a line."""


# -- models ----------------------------------------------------------------------------------------------------------------


@cache
def models() -> list[bytes]:
    """Small models with ops of every kind: ONNX's own tests where the package has them, and some of ours."""
    import onnx

    found = [path.read_bytes() for path in sorted(Path(onnx.__file__).parent.glob("backend/test/data/*/*/model.onnx"))]
    return [data for data in found if len(data) < 100_000] + own_models()


def own_models() -> list[bytes]:
    """Models of layers, control flow, shapes, quantized ops."""
    import numpy as np
    from onnx import TensorProto, helper
    from onnx_models import INT64, model, node, value

    rng = np.random.default_rng(0)
    w = rng.normal(size=(4, 3, 3, 3)).astype(np.float32)
    flag = TensorProto.BOOL
    body = helper.make_graph(
        [node("Add", "a a", "d"), node("Less", "d most", "go")],
        "body",
        [value("i", [], INT64), value("c", [], flag), value("a", [])],
        [value("go", [], flag), value("d", [])],
    )
    branches = [helper.make_graph([node(op, "x", "r")], op, [], [value("r", [2, 3])]) for op in ("Relu", "Exp")]
    conv = [node("Conv", "x w", "h", pads=[1, 1, 1, 1]), node("Relu", "h", "r"), node("GlobalAveragePool", "r", "y")]
    shapes = [
        node("Shape", "x", "s"),
        node("Slice", "s zero one", "n"),
        node("Concat", "n rest", "to", axis=0),
        node("Reshape", "x to", "y"),
    ]
    quantized = [node("QuantizeLinear", "x scale", "q"), node("DequantizeLinear", "q scale", "y")]
    return [
        model(conv, [value("x", ["n", 3, 8, 8])], [value("y", None)], {"w": w}),
        model(
            shapes,
            [value("x", ["n", 2, 3])],
            [value("y", None)],
            {"zero": np.asarray([0]), "one": np.asarray([1]), "rest": np.asarray([-1])},
        ),
        model(quantized, [value("x", [4])], [value("y", [4])], {"scale": np.float32(0.1)}),
        model(
            [node("Less", "x most", "c"), node("Loop", "_ c x", "y", body=body)],
            [value("x", [])],
            [value("y", [])],
            {"most": np.float32(100)},
        ),
        model(
            [
                node("ReduceSum", "x", "t", keepdims=0),
                node("Less", "t zero", "c"),
                node("If", "c", "y", then_branch=branches[0], else_branch=branches[1]),
            ],
            [value("x", [2, 3])],
            [value("y", [2, 3])],
            {"zero": np.float32(0)},
        ),
        model(
            [node("LSTM", "x w r", "y")],
            [value("x", [5, 2, 3])],
            [value("y", None)],
            {"w": np.ones((1, 8, 3), np.float32), "r": np.ones((1, 8, 2), np.float32)},
        ),
        model(
            [node("Resize", "x _ s", "y", mode="linear")],
            [value("x", [1, 1, 4, 4])],
            [value("y", None)],
            {"s": np.float32([1, 1, 2, 2])},
        ),
        model(
            [node("MatMul", "x w", "h"), node("Softmax", "h", "y")],
            [value("x", ["n", 64])],
            [value("y", None)],
            {"w": rng.normal(size=(64, 64)).astype(np.float32)},
        ),
    ]


def mutated_model(rng: random.Random, data: bytes) -> bytes:
    """A model with one to three faults: of its bytes, or of what they say."""
    for _ in range(rng.randint(1, 3)):
        data = (_bytes_changed if rng.random() < 0.4 else _structure_changed)(rng, data)
    return data


def _bytes_changed(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    if not changed:
        return data
    kind = rng.randrange(4)
    if kind == 0:
        for _ in range(rng.randint(1, 8)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del changed[rng.randrange(len(changed)) :]
    else:
        start = rng.randrange(len(changed))
        piece = changed[start : start + rng.randint(1, 30)]
        at = rng.randrange(len(changed))
        changed[at : at + (len(piece) if kind == 2 else 0)] = piece
    return bytes(changed)


def _structure_changed(rng: random.Random, data: bytes) -> bytes:
    import onnx

    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception:
        return _bytes_changed(rng, data)
    graph = proto.graph
    nodes, tensors = list(graph.node), list(graph.initializer)
    inputs = [v for v in (*graph.input, *graph.output) if v.type.WhichOneof("value") == "tensor_type"]
    attributes = [a for n in nodes for a in n.attribute]
    kind = rng.randrange(14)
    if kind == 0 and nodes:
        names = [o for n in nodes for o in n.output] + ["nothing"]
        node = rng.choice(nodes)
        if node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(names)  # a cycle, a missing one, or another
    elif kind == 1 and nodes:
        rng.choice(nodes).op_type = rng.choice([rng.choice(nodes).op_type, "Nope", "Reshape", "Expand", "Loop", "Tile", "Pad"])
    elif kind == 2 and nodes:
        graph.node.remove(rng.choice(nodes))
    elif kind == 3 and nodes:
        node = rng.choice(nodes)
        (node.input if rng.random() < 0.5 else node.output).append(
            rng.choice(["", "more", node.output[0] if node.output else ""])
        )
    elif kind == 4 and inputs:
        dims = rng.choice(inputs).type.tensor_type.shape.dim
        if dims and rng.random() < 0.7:
            rng.choice(dims).dim_value = rng.choice(NUMBERS)
        elif dims and rng.random() < 0.5:
            del dims[-1]
        else:
            dims.add().dim_value = rng.choice(NUMBERS)
    elif kind == 5 and inputs:
        rng.choice(inputs).type.tensor_type.elem_type = rng.randrange(30)
    elif kind == 6 and tensors:
        dims = rng.choice(tensors).dims
        if dims and rng.random() < 0.6:
            dims[rng.randrange(len(dims))] = rng.choice(NUMBERS)
        else:
            dims.append(rng.choice(NUMBERS))
    elif kind == 7 and tensors:
        rng.choice(tensors).data_type = rng.randrange(30)
    elif kind == 8 and tensors:
        tensor = rng.choice(tensors)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        place = rng.choice(
            [
                f"../{SECRET}",
                f"/etc/../{SECRET}",
                "/etc/passwd",
                "link.bin",
                "folder/../../" + SECRET,
                "",
                ".",
                "\0",
                "weights.bin",
            ]
        )
        for key, text in (("location", place), ("offset", str(rng.choice(NUMBERS))), ("length", str(rng.choice(NUMBERS)))):
            if rng.random() < 0.8:
                entry = tensor.external_data.add()
                entry.key, entry.value = key, text
    elif kind == 9 and attributes:
        a = rng.choice(attributes)
        if a.ints:
            a.ints[rng.randrange(len(a.ints))] = rng.choice(NUMBERS)
        elif rng.random() < 0.5:
            a.i = rng.choice(NUMBERS)
        else:
            a.type = rng.randrange(15)
    elif kind == 10 and attributes:
        node = rng.choice([n for n in nodes if n.attribute])
        node.attribute.remove(rng.choice(list(node.attribute)))
    elif kind == 11 and graph.input:
        graph.input.remove(rng.choice(list(graph.input)))
    elif kind == 12 and proto.opset_import:
        rng.choice(list(proto.opset_import)).version = rng.choice([0, 1, 6, 9, 13, 22, 1000, -1])
    elif graph.output:
        graph.output.add().CopyFrom(rng.choice(list(graph.output)))
    return proto.SerializeToString()


def read_mutated_model(seed: int, folder: Path) -> None:
    """Read and trace the model of a seed.

    Raises:
        LaminaError: what is wrong with it.
    """
    import lamina as lm

    rng = random.Random(seed)
    path = folder / "model.onnx"
    path.write_bytes(mutated_model(rng, rng.choice(models())))
    lm.from_onnx(path).module()


# -- texts -----------------------------------------------------------------------------------------------------------------

TOKENS = re.compile(r"[%@#!]?[\w.]+|->|\s+|.", re.DOTALL)
OTHERS = (
    "",
    "}",
    "{",
    "<",
    ">",
    "%nope",
    "@nope",
    '"',
    "tensor<?xf32>",
    "stablehlo.nope",
    "-1",
    "\x00",
    "->",
    "i0",
    "tensor<2xf32>",
    "f32",
)


@cache
def texts() -> list[str]:
    """Texts of StableHLO: those of the FileCheck tests, and of the programs that are written in this form."""
    import lamina as lm
    from interop_programs import PROGRAMS

    folder = TESTS.parent / "filecheck" / "interop" / "stablehlo"
    found = [
        p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.mlir")) if "stablehlo." in p.read_text(encoding="utf-8")
    ]
    return found + [lm.to_stablehlo(function, *arguments) for function, arguments in PROGRAMS.values()]


def mutated_text(rng: random.Random, text: str) -> str:
    """A text with one to three faults."""
    for _ in range(rng.randint(1, 3)):
        parts = TOKENS.findall(text)
        at = rng.randrange(len(parts))
        kind = rng.randrange(7)
        numbers = [k for k, p in enumerate(parts) if re.fullmatch(r"\d+", p) or re.match(r"\d+x", p)]
        if kind == 0:
            parts[at] = rng.choice(OTHERS)
        elif kind == 1:
            parts.insert(at, rng.choice(parts))
        elif kind == 2:
            other = rng.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        elif kind in (3, 4) and numbers:
            k = rng.choice(numbers)
            parts[k] = re.sub(r"^\d+", str(rng.choice(NUMBERS)), parts[k])
        elif kind == 5:
            del parts[at : at + rng.randint(1, 12)]
        else:
            lines = text.split("\n")
            line = rng.choice(lines)
            lines.insert(rng.randrange(len(lines)), line)
            parts = ["\n".join(lines)]
        text = "".join(parts)
    return text


def read_mutated_text(seed: int, folder: Path) -> None:
    """Read and translate the text of a seed.

    Raises:
        LaminaError: what is wrong with it.
    """
    from lamina.dialects.context import make_context
    from lamina.interop.stablehlo.from_text import parsed
    from lamina.passes import run_passes

    rng = random.Random(seed)
    path = folder / "program.mlir"
    path.write_text(mutated_text(rng, rng.choice(texts())), encoding="utf-8")
    module = parsed(path.read_text(encoding="utf-8"), str(path))
    run_passes(module, make_context(), [("convert-stablehlo-to-graph", {})])


READ = {"onnx": read_mutated_model, "stablehlo": read_mutated_text}


# -- one case --------------------------------------------------------------------------------------------------------------

opened: list[str] = []
"""Files that were opened since a case began, but those of Python and its packages."""
_OWN = tuple({os.path.realpath(p) for p in (*sysconfig.get_paths().values(), TESTS.parent, sys.prefix, sys.base_prefix)})


def watch_files() -> None:
    """Note every file that this process opens from now on."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str | bytes | os.PathLike):
            opened.append(os.path.realpath(os.fsdecode(args[0])))

    sys.addaudithook(hook)


def tried(kind: str, seed: int, folder: Path) -> tuple[str, str]:
    """What became of a case: `read`, `refused` or `fault`, and why."""
    from lamina.diagnostics import from_exception
    from lamina.errors import InternalError, LaminaError

    opened.clear()
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        READ[kind](seed, folder)
        became, why = "read", ""
    except LaminaError as error:
        why = str(error)
        has_place = PLACE[kind].search(why) or from_exception(error).location is not None
        became = "refused" if has_place and not isinstance(error, InternalError) else "fault"
        why = why if became == "refused" else f"without a place: {type(error).__name__}: {why}"
    except Exception as error:
        became, why = "fault", f"{type(error).__name__}: {error}"
    seconds = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000
    inside = (*_OWN, str(folder.resolve()))
    strange = [name for name in opened if not name.startswith(inside) and not name.endswith((".py", ".pyc", ".so"))]
    if strange:
        return "fault", f"opened {strange[0]}"
    if seconds > SECONDS or grown > MEGABYTES:
        return "fault", f"{seconds:.1f} s, {grown:.0f} MB: {why}"
    return became, why


def prepared(folder: Path) -> Path:
    """The folder of the model, with files around it that it must not reach."""
    (folder / SECRET).write_bytes(b"\0" * 4096)
    inner = folder / "model"
    inner.mkdir()
    (inner / "weights.bin").write_bytes(b"\0" * 4096)
    (inner / "link.bin").symlink_to(folder / SECRET)
    return inner


def child(kind: str, seeds: range) -> None:
    """Try seeds, one line for each."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    sys.path[:0] = [str(TESTS)]
    with tempfile.TemporaryDirectory() as name:
        folder = prepared(Path(name))
        watch_files()
        (models if kind == "onnx" else texts)()
        tried(kind, 0, folder)  # imports
        tried(kind, 1, folder)
        for seed in seeds:
            became, why = tried(kind, seed, folder)
            print(json.dumps([seed, became, why[:400]]), flush=True)


def main(kind: str, file: str, count: int) -> int:
    """Try what is left of the seeds up to a count; the exit status is 1 if there is a fault."""
    path = Path(file)
    done = {row[0]: row for row in map(json.loads, path.read_text().splitlines())} if path.exists() else {}
    while (first := len(done)) < count:
        command = [sys.executable, str(TESTS / "mutated_programs.py"), "--child", kind, str(first), str(count)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, path.open("a") as out:
            assert process.stdout
            while len(done) < count:
                ready, _, _ = select.select([process.stdout], [], [], LONGEST)
                line = process.stdout.readline() if ready else ""
                row = json.loads(line) if line else [len(done), "fault", "the process ended" if ready else "it hangs"]
                done[row[0]] = row
                out.write(json.dumps(row) + "\n")
                out.flush()
                if not line:
                    process.kill()
                    break
    counts = Counter(row[1] for row in done.values())
    for seed, became, why in done.values():
        if became == "fault":
            print(f"seed {seed}: {why}")
    print(f"{len(done)} programs: {dict(counts)}")
    return 1 if counts["fault"] else 0


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(sys.argv[2], range(int(sys.argv[3]), int(sys.argv[4])))
    else:
        sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5000))
