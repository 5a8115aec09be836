"""Applying rewrite patterns: by op type, to a fixpoint, within a budget, keeping locations.

A pattern is an ordinary xDSL `RewritePattern` with `@op_type_rewrite_pattern`; which ops it is tried on is read off its
annotation. One sweep visits every op once, 3 us for an op that no pattern wants; the ops a rewrite makes or touches are visited
in the next sweep. An op that a pattern inserts has the location of the op it matched, unless it was given one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import UnionType
from typing import Union, get_args, get_origin

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ..errors import InternalError

MAX_SWEEPS = 64
"""Sweeps before patterns are taken not to converge; chains of rewrites longer than this do not occur in practice."""


def apply_patterns(
    root: Operation,
    patterns: Sequence[RewritePattern],
    *,
    max_sweeps: int = MAX_SWEEPS,
    hits: dict[str, int] | None = None,
) -> bool:
    """Apply patterns inside an op until none applies. The first pattern in order that applies to an op wins.

    Args:
        root: the op whose regions are rewritten; it is not itself matched.
        patterns: tried in this order on each op of the types they are annotated with.
        max_sweeps: the budget.
        hits: if given, counts how often each pattern (by class name) applied.

    Returns:
        Whether anything changed.

    Raises:
        InternalError: the patterns did not come to rest, with the names of those that still applied.
    """
    table = _Table(patterns)
    changed, applied = False, []
    for _ in range(max_sweeps):
        applied = _sweep(root, table)
        for name in applied:
            if hits is not None:
                hits[name] = hits.get(name, 0) + 1
        if not applied:
            return changed
        changed = True
    raise InternalError(f"patterns did not converge in {max_sweeps} sweeps; still applying: {', '.join(sorted(set(applied)))}")


class _Table:
    """The patterns for each op class, found once a class."""

    def __init__(self, patterns: Sequence[RewritePattern]) -> None:
        self._patterns = [(pattern, matched_types(type(pattern))) for pattern in patterns]
        self._by_class: dict[type[Operation], tuple[RewritePattern, ...]] = {}

    def of(self, cls: type[Operation]) -> tuple[RewritePattern, ...]:
        found = self._by_class.get(cls)
        if found is None:
            found = tuple(pattern for pattern, types in self._patterns if issubclass(cls, types))
            self._by_class[cls] = found
        return found


@cache
def matched_types(pattern: type[RewritePattern]) -> tuple[type[Operation], ...]:
    """The op classes a pattern is annotated to match; every op if it says nothing.

    `op_type_rewrite_pattern` wraps the method in a closure over the class: the annotation is read from there.
    """
    method = pattern.match_and_rewrite
    for cell, name in zip(method.__closure__ or (), method.__code__.co_freevars, strict=True):
        if name == "expected_type":
            annotation = cell.cell_contents
            types = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
            return tuple(get_origin(type_) or type_ for type_ in types)
    return (Operation,)


def _sweep(root: Operation, table: _Table) -> list[str]:
    """Visit every op inside `root` once; the names of the patterns that applied."""
    applied: list[str] = []
    stack = [block.first_op for region in root.regions for block in region.blocks]
    stack.reverse()
    while stack:
        op = stack.pop()
        while op is not None:
            following = op.next_op
            patterns = table.of(type(op))
            if patterns and (name := _rewrite(op, patterns)) is not None:
                applied.append(name)
                if following is not None and following.parent is None:  # a rewrite removed what came next: leave the rest
                    break  # of this block to the next sweep
                if op.parent is None:
                    op = following
                    continue
            if op.regions:
                stack.append(following)
                stack.extend(block.first_op for region in reversed(op.regions) for block in reversed(region.blocks))
                break
            op = following
    return applied


def _rewrite(op: Operation, patterns: tuple[RewritePattern, ...]) -> str | None:
    """Try patterns on an op; the name of the one that applied."""
    rewriter = PatternRewriter(op)
    location = op.location
    rewriter.operation_insertion_handler = [lambda new: _locate(new, location)]
    for pattern in patterns:
        pattern.match_and_rewrite(op, rewriter)
        if rewriter.has_done_action:
            return type(pattern).__name__
    return None


def _locate(op: Operation, location: LocationAttr) -> None:
    if op.location is UNKNOWN_LOC:
        op.location = location
    for region in op.regions:
        for inner in region.walk():
            if inner.location is UNKNOWN_LOC:
                inner.location = location
