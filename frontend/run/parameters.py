"""The parameters of a function as `jit` is told of them: static and donated ones, by position and by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any


def static_arguments(
    function: Callable[..., Any], argnums: int | Sequence[int] | None, argnames: str | Sequence[str] | None
) -> tuple[tuple[int, ...], frozenset[str]]:
    """Static positions and names, each completed by the other where the function has a signature."""
    positions = [argnums] if isinstance(argnums, int) else [*(argnums or ())]
    names = {argnames} if isinstance(argnames, str) else {*(argnames or ())}
    if not positions and not names:
        return (), frozenset()
    try:
        parameters = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        parameters = []
    if any(k < 0 for k in positions):
        positions = [k % len(parameters) if k < 0 else k for k in positions]
    names |= {parameters[k] for k in positions if k < len(parameters)}
    positions += [k for k, name in enumerate(parameters) if name in names and k not in positions]
    return tuple(sorted(positions)), frozenset(names)


def donated_positions(
    function: Callable[..., Any], argnums: int | Sequence[int], argnames: str | Sequence[str], static: Sequence[int]
) -> frozenset[int]:
    """The positions of donated arguments, none negative.

    Raises:
        TypeError: a position is not an integer.
        ValueError: an argument is static, or counted from the end of an unknown number.
    """
    positions = [argnums] if isinstance(argnums, int) else [*argnums]
    if any(isinstance(k, bool) or not isinstance(k, int) for k in positions):
        raise TypeError(f"jit takes donate_argnums as positions, got {argnums!r:.60}")
    for name in [argnames] if isinstance(argnames, str) else argnames:
        named, _ = static_arguments(function, (), name)
        if not named:
            raise ValueError(f"jit got donate_argnames {name!r}, which is no parameter by position")
        positions += named
    if any(k < 0 for k in positions):
        try:
            count = len(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            raise ValueError(f"jit cannot count donate_argnums {argnums} from the end: the signature is unknown") from None
        positions = [k % count if k < 0 else k for k in positions]
    if both := sorted({*positions} & {*static}):
        raise ValueError(f"argument {both[0]} is static and cannot be donated")
    return frozenset(positions)


def has_parameter(function: Callable[..., Any], name: str) -> bool:
    """Whether a function would take a keyword itself."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.kind is p.VAR_KEYWORD or (p.name == name and p.kind is not p.POSITIONAL_ONLY) for p in parameters)
