"""The main program of the examples: shows the scheduled loops and times them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def show(kernel: Any, schedule: Callable[[Any], None], reference: Callable[..., Any], args: list[Any]) -> None:
    """Print the schedule and the loops that it makes; time a call with the default schedule and with it, and NumPy."""
    kernel.reset()
    default = milliseconds(kernel, args)
    s = kernel.schedule()
    schedule(s)
    scheduled, numpy = milliseconds(kernel, args), milliseconds(reference, args)
    print(f"{s.as_python()}\n\nas text: {s}\n\n{'default':>12}{'scheduled':>12}{'NumPy':>12}  ms")
    print(f"{default:12.3f}{scheduled:12.3f}{numpy:12.3f}")


def milliseconds(function: Callable[..., Any], args: list[Any], seconds: float = 0.3) -> float:
    """How long a call takes: the best of as many as fit into some time. Kernels work on copies."""
    args = [arg.copy() if hasattr(arg, "copy") else arg for arg in args]
    function(*args)
    best, start = float("inf"), time.perf_counter()
    while (before := time.perf_counter()) < start + seconds:
        function(*args)
        best = min(best, time.perf_counter() - before)
    return 1e3 * best
