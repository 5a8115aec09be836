"""Gathers and scatters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .writer import INT64, NoForm, Writer, dtype_of, rule, shape_of, values_of, word_of


class _Slices:
    """What a gather and a scatter address: index vectors, and the operand with the addressed dims first."""

    def __init__(self, w: Writer, op: Any, indices: list[Any], names: Any) -> None:
        self.w = w
        self.at, self.batch, self.window = (values_of(op, name) for name in ("at", "batch", "window"))
        self.sizes = shape_of(op.operands[0])
        self.points = shape_of(indices[0])
        self.rest = [d for d in range(len(self.sizes)) if d not in self.at and d not in self.batch]
        self.order = [*self.batch, *self.at, *self.rest]
        self.extent = list(self.window) or [1] * len(self.at)
        self.names = [x if dtype_of(v) == INT64 else w.cast(x, INT64) for x, v in zip(names, indices, strict=True)]

    def vectors(self, names: list[str]) -> str:
        """Index vectors of each element of a window, in the last dim."""
        w, parts = self.w, []
        grid = [*self.points, *(self.window and self.extent)]
        for k, x in enumerate(names):
            if self.window:
                x = w.reshape(x, [*self.points, *[1] * len(self.at)])
                steps = np.arange(self.extent[k]).reshape([-1 if j == k else 1 for j in range(len(self.at))])
                x = w.one("Expand", w.one("Add", x, w.constant(steps)), w.shape(grid))
            parts.append(w.one("Unsqueeze", x, w.ints(-1)))
        return w.one("Concat", *parts, axis=-1) if len(parts) > 1 else parts[0]

    def last(self, k: int) -> str:
        """The greatest index of an addressed dim."""
        n = self.sizes[self.at[k]] - self.extent[k]
        return self.w.constant(np.int64(n)) if isinstance(n, int) else self.w.one("Reshape", self.w.size(n), self.w.ints())

    def slice_order(self) -> list[int]:
        """The dims of a slice as the addressed elements have them: those of the window, then the others."""
        return [*(self.at if self.window else ()), *self.rest]


@rule("gather")
def gather(w: Writer, op: Any, x: str, *indices: str) -> str:
    s = _Slices(w, op, list(op.operands[1:]), indices)
    if 0 in shape_of(op.results[0]):
        return w.constant(np.zeros(shape_of(op.results[0]), dtype_of(op.results[0])))
    names = [w.one("Max", w.one("Min", i, s.last(k)), w.constant(np.int64(0))) for k, i in enumerate(s.names)]
    if len(s.at) == 1 and not s.batch and not s.window:
        made = w.one("Gather", x, names[0], axis=s.at[0])
        k, p = s.at[0], len(s.points)
        return w.transpose(made, [*range(k, k + p), *range(k), *range(k + p, p + len(s.rest))])
    made = w.one("GatherND", w.transpose(x, s.order), s.vectors(names), batch_dims=len(s.batch))
    dims, p = s.slice_order(), len(s.points)
    return w.transpose(made, [*range(p), *[p + dims.index(d) for d in sorted(dims)]])


@rule("scatter")
def scatter(w: Writer, op: Any, x: str, updates: str, *indices: str) -> str:
    """`ScatterND` into one more row, which takes what is out of bounds and is dropped."""
    s = _Slices(w, op, list(op.operands[2:]), indices)
    kind, held = word_of(op, "kind"), dtype_of(op.operands[0])
    if 0 in shape_of(op.operands[1]) or 0 in s.sizes:
        return x
    if not all(isinstance(n, int) for n in (s.sizes[s.at[0]], *(s.points if s.batch else ()))):
        raise NoForm("into a dim of symbolic size has no form in ONNX")
    names, inside = list(s.names), None
    for k in range(len(s.at)):
        low = w.one("GreaterOrEqual", names[k], w.constant(np.int64(0)))
        high = w.one("LessOrEqual", names[k], s.last(k))
        both = w.one("And", low, high)
        inside = both if inside is None else w.one("And", inside, both)
    assert inside is not None
    names = [
        w.one("Where", inside, i, w.constant(np.int64(s.sizes[d] if k == 0 else 0)))
        for k, (i, d) in enumerate(zip(names, s.at, strict=True))
    ]
    order = [*s.at, *s.batch, *s.rest]
    batch = [
        w.constant(np.arange(n).reshape([-1 if j == k else 1 for j in range(len(s.points))]))
        for k, n in enumerate(s.points[: len(s.batch)])
    ]
    batch = [w.one("Expand", b, w.ints(*s.points)) for b in batch]
    moved = w.transpose(x, order)
    extra = s.extent[0]
    rank = len(s.sizes)
    fill = w.constant(np.zeros((), held))
    moved = w.pad(moved, [0] * rank, [extra] + [0] * (rank - 1), fill)
    vectors = s.vectors(names)
    if batch:
        grid = [*s.points, *(s.window and s.extent)]
        tails = [
            w.one(
                "Unsqueeze",
                w.one("Expand", w.reshape(b, [*s.points, *[1] * (len(grid) - len(s.points))]), w.ints(*grid)),
                w.ints(-1),
            )
            for b in batch
        ]
        vectors = w.one("Concat", vectors, *tails, axis=-1)
    dims, p = s.slice_order(), len(s.points)
    kept = sorted(dims)
    updates = w.transpose(updates, [*range(p), *[p + kept.index(d) for d in dims]])
    is_bool = held.kind == "b"
    if is_bool and kind != "set":
        moved, updates = w.cast(moved, np.int32), w.cast(updates, np.int32)
    made = w.one("ScatterND", moved, vectors, updates, reduction={"set": "none"}.get(kind, kind))
    made = w.cast(made, np.bool_) if is_bool and kind != "set" else made
    made = w.slice(made, 0, 0, s.sizes[s.at[0]])
    return w.transpose(made, [order.index(d) for d in range(rank)])
