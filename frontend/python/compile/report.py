"""`lm.explain`: reports the regions, graph breaks and variants of a function of `lm.compile`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MethodType
from typing import Any

from ...kernel.explain import Report
from .compiled import Compiled, compile
from .regions import Region, measuring


def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Report:
    """A compiled function's regions with their lines, variants, guards, calls and times; where Python runs, and why.

    Args:
        function: a function of `lm.compile`, or one that is compiled for this.
        args, kwargs: of a call, which is made and measured; without any, nothing is called.

    Returns:
        A text that prints itself.

    >>> import numpy as np, lamina as lm
    >>> @lm.compile
    ... def f(x):
    ...     y = x * 2
    ...     print("twice")
    ...     return y
    >>> print(lm.explain(f, np.ones(2)))  # doctest: +ELLIPSIS
    twice
    f(), <doctest ...>:...: 1 region, 1 break
    line 3: region, 1 variant, 1 call, ... us a call, compiled in ... ms
      variant 1 for x float64[2]
        type(x) is ndarray
    line 4, column 5: break: print() reaches outside of the program: ...
    """
    if not callable(function):
        raise TypeError(f"explain takes a function, got {type(function).__name__}: {function!r:.60}")
    made = function if isinstance(function, Compiled | MethodType) else compile(function)
    compiled: Any = made.__func__ if isinstance(made, MethodType) else made
    if not isinstance(compiled, Compiled):
        raise TypeError(f"explain takes a Python function, got {type(function).__name__}: {function!r:.60}")
    if args or kwargs:
        measuring.append(1)
        try:
            made(*args, **kwargs)
        finally:
            measuring.pop()
    return Report("\n".join(_lines(compiled)))


def _lines(compiled: Compiled) -> list[str]:
    compiled.prepare()
    code = compiled.function.__code__
    place = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
    if compiled.why_python:
        return [f"{compiled.__name__}(), {place}: Python runs it: {compiled.why_python}"]
    breaks = compiled.breaks
    out = [f"{compiled.__name__}(), {place}: {_count(len(compiled.regions), 'region')}, {_count(len(breaks), 'break')}"]
    parts: list[tuple[int, list[str]]] = [(r.source.lines[0], _region(r)) for r in compiled.regions]
    for mark in breaks:
        remedy = f": {mark.remedy}" if mark.remedy else ""
        parts.append((mark.place[0], [f"line {mark.place[0]}, column {mark.place[1] + 1}: break: {mark.reason}{remedy}"]))
    for k, (_, lines) in enumerate(parts := sorted(parts, key=lambda part: part[0])):
        out += lines if not k or lines != parts[k - 1][1] else []  # a line may break twice for one reason
    return out


def _region(region: Region) -> list[str]:
    first, last = region.source.lines
    where = f"lines {first} to {last}" if last > first else f"line {first}"
    if region.python:
        return [f"{where}: run by Python: {region.python}"]
    text = f"{where}: region, {_count(len(region.variants), 'variant')}, {_count(region.calls, 'call')}"
    if region.timed:
        text += f", {region.seconds / region.timed * 1e6:.1f} us a call"
    if region.variants:
        text += f", compiled in {region.compile_seconds * 1e3:.0f} ms"
    if region.is_full:
        text += "; no more are compiled"
    out = [text]
    for k, variant in enumerate(region.variants):
        shapes = ", ".join(f"{path} {dtype}{_shape(shape)}" for path, (dtype, shape) in variant.arrays.items())
        out.append(f"  variant {k + 1}{f' for {shapes}' if shapes else ''}")
        out += [f"    {text}" for text in variant.facts]
    return out


def _shape(shape: tuple[Any, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
