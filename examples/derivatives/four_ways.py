"""One function, differentiated in four ways: by hand of the algebra, by differences, forward and in reverse.

    python examples/derivatives/four_ways.py [picture.svg]

The function is the one of the survey of Baydin, Pearlmutter, Radul and Siskind (2018), y = ln(x1) + x1 x2 - sin(x2), at (2, 5).
The expression that grows is their logistic map, l -> 4 l (1 - l). sympy and matplotlib are used where they are installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np

POINT = 2.0, 5.0


def f(x1: Any, x2: Any) -> Any:
    return lnp.log(x1) + x1 * x2 - lnp.sin(x2)


def logistic(x: Any, times: int) -> Any:
    for _ in range(times):
        x = 4 * x * (1 - x)
    return x


def trace() -> None:
    """The values of all nodes, their tangents along x1, and their adjoints: the tables 2 and 3 of the survey in one."""
    run = lm.record(f, *POINT, grad=True)
    run.forward(1.0, 0.0)
    print(run)


def symbolic(most: int = 6) -> list[tuple[int, int | None, int]]:
    """The derivative as an expression, and how it swells: operations of the expression and of our program, by iterations."""
    rows: list[tuple[int, int | None, int]] = []
    sympy: Any = None
    if find_spec("sympy") is not None:
        import sympy

        x1, x2 = sympy.symbols("x1 x2")
        y = sympy.log(x1) + x1 * x2 - sympy.sin(x2)
        print(f"dy/dx1 = {sympy.diff(y, x1)}, dy/dx2 = {sympy.diff(y, x2)}")
    for n in range(1, most + 1):
        count = None
        if sympy is not None:
            x = sympy.symbols("x")
            count = int(sympy.count_ops(sympy.diff(logistic(x, n), x)))
        rows.append((n, count, operations(lm.grad(lambda x, n=n: logistic(x, n)))))
    print("iterations  operations of the expression  of our gradient")
    for n, count, ours in rows:
        print(f"{n:10}  {'-' if count is None else count:>28}  {ours:15}")
    return rows


def operations(g: Callable[..., Any]) -> int:
    """How many operations of arithmetic the program of a function of one number has."""
    lines = lm.jit(g).lower(0.3).as_text("optimized").splitlines()
    return sum(" = graph." in line and "graph.const" not in line for line in lines)


def numeric(picture: str | None = None) -> dict[str, np.ndarray[Any, Any]]:
    """The errors of differences by the size of their step: the formula's at the right, the rounding's at the left."""
    exact = float(lm.grad(f)(*POINT))
    steps = 10.0 ** np.arange(-16, 0)
    x1, x2 = POINT
    forward = [(f(x1 + h, x2) - f(x1, x2)) / h for h in steps]
    central = [(f(x1 + h, x2) - f(x1 - h, x2)) / (2 * h) for h in steps]
    errors = {"forward": np.abs(np.array(forward) - exact), "central": np.abs(np.array(central) - exact)}
    print("step     forward  central")
    for h, a, b in zip(steps, *errors.values(), strict=True):
        print(f"{h:7.0e}  {a:7.1e}  {b:7.1e}")
    if picture is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 3.5), layout="constrained")
        axes = figure.add_subplot(xlabel="step", ylabel="error of dy/dx1", xscale="log", yscale="log")
        for name, error in errors.items():
            axes.plot(steps, np.maximum(error, 1e-17), "o-", label=f"{name} difference")
        axes.legend()
        figure.savefig(picture)
    return errors


def both_modes() -> tuple[list[float], list[float]]:
    """The gradient by one forward run for each argument, and by one reverse run."""
    forward = [float(lm.jvp(f, POINT, direction)[1]) for direction in ((1.0, 0.0), (0.0, 1.0))]
    _, pull = lm.vjp(f, *POINT)
    reverse = [float(x) for x in pull(1.0)]
    print(f"forward, two runs: {forward}\nreverse, one run:  {reverse}")
    return forward, reverse


def main(picture: str | None = None) -> None:
    for title, part in [("Evaluation trace", trace), ("Symbolic", symbolic), ("Numeric", lambda: numeric(picture))]:
        print(f"\n{title}\n")
        part()
    print("\nForward and reverse\n")
    both_modes()


if __name__ == "__main__":
    main(*sys.argv[1:2])
