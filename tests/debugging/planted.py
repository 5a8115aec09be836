# ruff: noqa: E501
"""Planted faults: does `--validate-each` name each one?

    python tests/debugging/planted.py [WORD ...] [--jobs 2]      all, or those with a word in their names
    python tests/debugging/planted.py --reduce                   how many ops the reducer leaves of each, too: a minute of CPU more

Each fault is one change of the text of one file, seen by one child process that compiles one program with every step
validated; the package itself stays as it is. A line a fault: what named it, or that nothing did.
"""

from __future__ import annotations

import concurrent.futures
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CHILD = Path(__file__).parent / "planted_child.py"


@dataclass(frozen=True)
class Planted:
    """A change of the text of a file, and the program that it must show on."""

    name: str
    file: str
    old: str
    new: str
    program: str


def _of(area: str, file: str, *changes: tuple[str, str, str, str]) -> list[Planted]:
    return [Planted(f"{area}: {name}", file, old, new, program) for name, old, new, program in changes]


_ELEMENTWISE = "dialects/graph/rules_elementwise.py"

FAULTS = [
    *_of(
        "rule",
        _ELEMENTWISE,
        ("neg neg mul", "return b.mul(lhs.x, rhs.x) if lhs and rhs else None", "return b.add(lhs.x, rhs.x) if lhs and rhs else None", "identities"),
        ("div of neg", "return b.neg(b.div(inner.x, op.rhs))", "return b.div(inner.x, op.rhs)", "identities"),
        ("add of neg", "return b.sub(op.lhs, inner.x)\n    inner = made_by(op.lhs", "return b.sub(inner.x, op.lhs)\n    inner = made_by(op.lhs", "identities"),
        ("sub of neg", "return b.add(op.lhs, inner.x) if inner else None", "return b.sub(op.lhs, inner.x) if inner else None", "identities"),
        ("pow three", "return b.mul(op.lhs, b.mul(op.lhs, op.lhs)) if is_splat(op.rhs, 3)", "return b.mul(op.lhs, op.lhs) if is_splat(op.rhs, 3)", "powers"),
        ("power of two", "b.full_like(op.lhs, 1 / float(known))", "b.full_like(op.lhs, 0.5 / float(known))", "identities"),
        ("minus one", "return b.neg(op.lhs) if is_splat(op.rhs, -1)", "return b.abs(op.lhs) if is_splat(op.rhs, -1)", "identities"),
        ("scaled neg", "return b.mul(inner.x, b.full(-known, other.type))", "return b.mul(inner.x, b.full(known, other.type))", "identities"),
        ("pow one over", "return b.div(b.full_like(op.lhs, 1), op.lhs) if is_splat(op.rhs, -1)", "return op.lhs if is_splat(op.rhs, -1)", "powers"),
    ),
    *_of(
        "fusion index",
        "dialects/graph/shape.py",
        ("transpose", "Read(0, dims_map(len(perm), inverse(perm)))", "Read(0, dims_map(len(perm), perm))", "moves"),
        ("slice start", "return AffineDimExpr(dim) * factor + AffineConstantExpr(offset)", "return AffineDimExpr(dim) * factor", "moves"),
        ("slice step", "return AffineDimExpr(dim) * factor + AffineConstantExpr(offset)", "return AffineDimExpr(dim) + AffineConstantExpr(offset)", "moves"),
    ),
    *_of(
        "fusion index",
        "lowering/fusion_to_loops.py",
        ("read map", "compose(read.map, point, symbols)", "compose(read.map, point[::-1] if len(point) == 2 else point, symbols)", "matmuls"),
        ("loop bound", "ForOp.build_loop(0, self._bound(sizes[0])", "ForOp.build_loop(0, sizes[0] - 1 if isinstance(sizes[0], int) and sizes[0] > 3 else self._bound(sizes[0])", "layer"),
        ("in place", "and (reads := self.reads.get(source)) and reads <= self.stored:", "and (reads := self.reads.get(source)):", "donated_once"),
        ("write map", "point if equation.write is None else compose(equation.write, point)", "point", "moves"),
    ),
    *_of(
        "memory plan",
        "lowering/plan_buffers.py",
        ("lifetimes", "(placed[0, :n] <= last) & (placed[1, :n] >= first)", "(placed[0, :n] < first) & (placed[1, :n] > last)", "sizes"),
        ("end of life", "last[alloc] = at", "last.setdefault(alloc, at)", "chain"),
        ("gap", "placed[:, at] = first, last, start, start + size", "placed[:, at] = first, last, start, start + size // 2", "sizes"),
        ("offsets", "offsets[k] = start\n", "offsets[k] = start - start % 512\n", "sizes"),
        ("arena size", "arena = max(arena, start + size)", "arena = max(arena, start)", "chain"),
    ),
    *_of(
        "donation",
        "lowering/donation.py",
        ("last read", "if not read.at or read.at[-1] < written.at[0]:", "if not read.at or read.at[0] < written.at[0]:", "donated_early"),
        ("kernel reads again", "if len(writes) != 1 or any((writes[0], k) not in in_place.get(name, ()) for k in reads):\n        return None", "if len(writes) != 1:\n        return None", "donated_once"),
        ("not the whole", "if read.at[-1] != written.at[0] or not (read.whole and written.whole):\n        return None", "if read.at[-1] != written.at[0]:\n        return [] if isinstance(op, LaunchOp) else None", "donated_later"),
    ),
    *_of(
        "transposition",
        "dialects/graph/shape.py",
        ("transpose", "b.transpose(ct, perm=inverse(ints(op.properties[\"perm\"])))", "b.neg(b.transpose(ct, perm=inverse(ints(op.properties[\"perm\"]))))", "gradient"),
        ("slice", "return b.pad(ct, zero, low=start, high=high, interior=[s - 1 for s in step])", "return b.pad(ct, zero, low=high, high=start, interior=[s - 1 for s in step])", "gradient"),
        ("concat", "start[dim] = sum(op.shape(j)[dim] for j in range(k))", "start[dim] = 0", "gradient"),
        ("reverse", "b.reverse(ct, dims=ints(op.properties[\"dims\"]))", "ct", "more_gradients"),
    ),
    *_of(
        "transposition",
        "dialects/graph/pad.py",
        ("pad", "trimmed = b.pad(ct, zero, low=[-p[0] for p in padding]", "trimmed = b.pad(b.add(ct, ct), zero, low=[-p[0] for p in padding]", "more_gradients"),
    ),
    *_of(
        "transposition",
        "transforms/_transpose.py",
        ("dropped cotangent", "return b.convert(b.add(b.convert(x, wide), b.convert(y, wide)), element_of(x))", "return y", "gradient_f16"),
        ("zero gradient", "return [cotangents[a] if a in cotangents else b.zeros_like(a) for a in block.args]", "return [b.zeros_like(a) for a in block.args]", "gradient"),
    ),
    *_of(
        "transposition",
        "dialects/graph/contract.py",
        ("dot", "perm = tuple(now.index(d) for d in range(mine_rank))\n    return result if", "result = b.neg(result) if k else result\n    perm = tuple(now.index(d) for d in range(mine_rank))\n    return result if", "gradient"),
    ),
    *_of("transposition", "dialects/graph/choose.py", ("select", "operands=(1, 2))", "operands=(1,))", "more_gradients")),
    *_of(
        "batching",
        "transforms/_batch.py",
        ("axis", "value = batcher.b.transpose(argument, perm=(axis, *(d for d in range(rank) if d != axis)))", "value = argument", "batched_square"),
        ("spread", "return self.b.broadcast(value, tuple(range(1, rank + 1)), (self.size, *shape_of(value)))", "return self.b.neg(self.b.broadcast(value, tuple(range(1, rank + 1)), (self.size, *shape_of(value))))", "batched_constant"),
    ),
    *_of(
        "batching",
        "dialects/graph/shape.py",
        ("slice", "b.slice(operands[0], start=(0, *ints(p[\"start\"]))", "b.slice(operands[0], start=(0, *(0 for _ in ints(p[\"start\"])))", "batched_slice"),
        ("transpose", "return [b.transpose(operands[0], perm=(0, *later(ints(op.properties[\"perm\"]))))]", "return [b.neg(b.transpose(operands[0], perm=(0, *later(ints(op.properties[\"perm\"])))))]", "batched_more"),
    ),
    *_of("batching", "dialects/graph/contract.py", ("dot", "return [result if at == 0 else b.transpose(", "return [result if at >= 0 else b.transpose(", "batched_right")),
    *_of("batching", "dialects/graph/batching.py", ("along", "return tuple(d + 1 for d in dims)", "return tuple(max(d, 1) for d in dims)", "batched_square")),
    *_of(
        "derivative",
        "dialects/functions.py",
        ("tanh", "return b.sech2(x)", "return b.mul(b.sech2(x), b.sech2(x))", "gradient"),
        ("cos", "derivative=(lambda b, x, y: b.neg(b.sin(x)),)", "derivative=(lambda b, x, y: b.sin(x),)", "more_gradients"),
        ("erf", "b.full_like(x, 2 / python_math.sqrt(python_math.pi))", "b.full_like(x, 2 / python_math.pi)", "more_gradients"),
        ("log", "derivative=(lambda b, x, y: b.div(b.full_like(x, 1), x),)", "derivative=(lambda b, x, y: b.div(b.full_like(x, 1), y),)", "gradient"),
        ("atan2", "lambda b, y, x, z: b.neg(_turn(b, y, y, x))", "lambda b, y, x, z: _turn(b, y, y, x)", "more_gradients"),
        ("sqrt", "b.div(b.full_like(x, 0.5), y)", "b.div(b.full_like(x, 1), y)", "gradient"),
    ),
    *_of(
        "derivative",
        "dialects/graph/binary.py",
        ("div", "parts += [] if dy is None else [b.neg(b.mul(dy, op.results[0]))]", "parts += [] if dy is None else [b.mul(dy, op.results[0])]", "forward"),
        ("pow", "b.select(origin, one, x), b.sub(y, one))", "b.select(origin, one, x), y)", "more_gradients"),
        ("sub", "b.neg(tangents[1]) if tangents[0] is None", "tangents[1] if tangents[0] is None", "forward"),
        ("max", "derivative=Elementwise(lambda b, x, y, z: _chosen(b, x, y, \"gt\"), lambda b, x, y, z: _chosen(b, x, y, \"lt\"))", "derivative=Elementwise(lambda b, x, y, z: _chosen(b, x, y, \"lt\"), lambda b, x, y, z: _chosen(b, x, y, \"gt\"))", "more_gradients"),
    ),
    *_of(
        "composite",
        "dialects/graph/composite.py",
        ("gelu", "for factor in (1, 0.044715))", "for factor in (1, 0.0447))", "activations"),
        ("softmax", "return b.mul(e, restore(b, b.div(b.full_like(total, 1), total)", "return b.mul(e, restore(b, b.div(b.full_like(total, 1.0001), total)", "activations"),
    ),
    *_of(
        "strategy",
        "lowering/schedule/split.py",
        ("end", "*(end - start for end in ends)", "*(end - start - 1 for end in ends)", "saxpy_split"),
        ("index", "both = AffineExpr.dimension(0) + AffineExpr.dimension(1)", "both = AffineExpr.dimension(0) + AffineExpr.dimension(1) * 0", "saxpy_split"),
    ),
    *_of(
        "strategy",
        "lowering/schedule/peel.py",
        ("front", "([cut], uppers)", "([cut + 1], uppers)", "saxpy_front"),
        ("rest", "([start, cut], uppers)", "([start, cut + 1], uppers)", "saxpy_peel"),
    ),
    *_of(
        "strategy",
        "lowering/schedule/unroll_and_jam.py",
        ("copies", "AffineConstantExpr(k * step)", "AffineConstantExpr(k * step // 2 * 2)", "matmul_jam"),
    ),
    *_of("strategy", "lowering/schedule/split.py", ("outer step", "step=step * size,", "step=step * size + 1,", "saxpy_split")),
    *_of(
        "emission",
        "lowering/llvm/emit_scalar.py",
        ("sub", "\"arith.subf\": _float(\"fsub\")", "\"arith.subf\": _float(\"fadd\")", "saxpy"),
        ("max", "\"arith.maximumf\": _float_limit(\"maximum\")", "\"arith.maximumf\": _float_limit(\"minimum\")", "layer"),
        ("int max", "\"arith.maxsi\": _integer_limit(\"smax\", max)", "\"arith.maxsi\": _intrinsic(\"umax\")", "integers"),
        ("select", "{ty} {xs[1]}, {ty} {xs[2]}", "{ty} {xs[2]}, {ty} {xs[1]}", "chosen"),
    ),
    *_of(
        "emission",
        "lowering/llvm/emit_loops.py",
        ("step", "nsw i64 {index}, {step}\")", "nsw i64 {index}, {2 * step}\")", "norms"),
        ("carried", "[ {init}, %{entry} ], [ {last}, %{latch} ]", "[ {init}, %{entry} ], [ {init}, %{latch} ]", "norms"),
    ),
    *_of("emission", "lowering/llvm/emit_scalar.py", ("div", "\"arith.divf\": _float(\"fdiv\")", "\"arith.divf\": _float(\"fmul\")", "activations")),
    *_of(
        "machine code",
        "lowering/llvm/math/tanh.py",
        ("tanh", "-0.33333316445350647,", "-0.33343316445350647,", "functions"),
    ),
    *_of(
        "machine code",
        "lowering/llvm/math/exp.py",
        ("exp", "\"float\": (0.5, 0.1666652113199234,", "\"float\": (0.5, 0.1666852113199234,", "functions"),
        ("ln2", "\"float\": (0.693145751953125, 1.428606765330187e-06)", "\"float\": (0.693145751953125, 1.528606765330187e-06)", "functions_wide"),
    ),
    *_of("machine code", "codegen/text.py", ("fma", "({ty} {x}, {ty} {y}, {ty} {z})", "({ty} {x}, {ty} {z}, {ty} {y})", "matmuls")),
]  # fmt: skip


def verdict(fault: Planted, reduce: bool = False) -> tuple[str, str]:
    """`named`, `missed` or `broken`, and what was said."""
    command = [sys.executable, str(CHILD), fault.file, fault.old, fault.new, fault.program, *(["--reduce"] if reduce else [])]
    limit = 6000 if reduce else 600
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return "broken", f"took more than {limit} seconds"
    last = (found.stdout.strip().splitlines() or [""])[-1]
    word, _, rest = last.partition(" ")
    if word in ("named", "missed", "broken"):
        return word, rest
    return "named" if found.returncode < 0 else "broken", f"exit {found.returncode}: {found.stderr.strip()[-300:]}"


def chosen(words: list[str]) -> list[Planted]:
    """The faults with one of some words in their names; all without any."""
    return [fault for fault in FAULTS if not words or any(word in f"{fault.name} {fault.program}" for word in words)]


def main() -> None:
    jobs = int(sys.argv[sys.argv.index("--jobs") + 1]) if "--jobs" in sys.argv else 1
    words = [word for word in sys.argv[1:] if not word.startswith("--") and not word.isdigit()]
    faults, start = chosen(words), time.monotonic()
    counts = {"named": 0, "missed": 0, "broken": 0}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        verdicts = pool.map(lambda fault: verdict(fault, "--reduce" in sys.argv), faults)
        for fault, (word, said) in zip(faults, verdicts, strict=True):
            counts[word] += 1
            print(f"{word:6} {fault.name} on {fault.program}: {said[:200]}", flush=True)
    print(f"{len(faults)} faults: {counts}, {time.monotonic() - start:.0f} s")
    sys.exit(0 if counts["named"] == len(faults) else 1)


if __name__ == "__main__":
    main()
