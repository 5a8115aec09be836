"""Sequences and optionals: lists and absent values, which exist while the program is traced."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import NeedsSize, OnnxError
from ..nodes import Node, normalized, op
from ..values import dims, known, operands, scalar


@op("SequenceConstruct")
def sequence_construct(node: Node, *values: Any) -> Any:
    return list(values)


@op("SequenceEmpty")
def sequence_empty(node: Node) -> Any:
    return []


@op("SequenceAt")
def sequence_at(node: Node, sequence: list[Any], position: Any) -> Any:
    i = int(scalar(position, "the position"))
    if not -len(sequence) <= i < len(sequence):
        raise OnnxError(f"element {i} of a sequence of {len(sequence)}")
    return sequence[i]


@op("SequenceInsert")
def sequence_insert(node: Node, sequence: list[Any], x: Any, position: Any = None) -> Any:
    i = len(sequence) if position is None else int(scalar(position, "the position"))
    if not -len(sequence) <= i <= len(sequence):
        raise OnnxError(f"position {i} of a sequence of {len(sequence)}")
    at = i % len(sequence) if i < 0 else i
    return [*sequence[:at], x, *sequence[at:]]


@op("SequenceErase")
def sequence_erase(node: Node, sequence: list[Any], position: Any = None) -> Any:
    i = -1 if position is None else int(scalar(position, "the position"))
    if not -len(sequence) <= i < len(sequence):
        raise OnnxError(f"element {i} of a sequence of {len(sequence)}")
    at = i % len(sequence)
    return [*sequence[:at], *sequence[at + 1 :]]


@op("SequenceLength")
def sequence_length(node: Node, sequence: list[Any]) -> Any:
    return np.asarray(len(sequence), np.int64)


@op("ConcatFromSequence")
def concat_from_sequence(node: Node, sequence: list[Any]) -> Any:
    xp, *values = operands(*sequence)
    return xp.stack(values, node.need("axis")) if node.get("new_axis", 0) else xp.concatenate(values, node.need("axis"))


@op("SplitToSequence")
def split_to_sequence(node: Node, x: Any, split: Any = None) -> Any:
    axis = normalized(node.get("axis", 0), x.ndim)
    n = x.shape[axis]
    if not known(n):
        raise NeedsSize(f"a sequence of symbolic length {n}")
    if split is None:
        sizes = [1] * n
    elif np.ndim(split) == 0:
        step = int(scalar(split, "the size of a part"))
        sizes = [min(step, n - i) for i in range(0, n, step)]
    else:
        sizes = dims(split, "the sizes")
    ends = np.cumsum([0, *sizes])
    parts = [x[(*[slice(None)] * axis, slice(int(a), int(b)))] for a, b in pairwise(ends)]
    if split is None and not node.get("keepdims", 1):
        parts = [p.reshape((*p.shape[:axis], *p.shape[axis + 1 :])) for p in parts]
    return parts


class Absent:
    """An optional that holds nothing."""


@op("Optional")
def optional(node: Node, x: Any = None) -> Any:
    return Absent() if x is None else x


@op("OptionalHasElement")
def optional_has_element(node: Node, x: Any = None) -> Any:
    return np.asarray(x is not None and not isinstance(x, Absent))


@op("OptionalGetElement")
def optional_get_element(node: Node, x: Any = None) -> Any:
    if x is None or isinstance(x, Absent):
        raise OnnxError("the optional holds nothing")
    return x
