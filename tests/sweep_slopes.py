"""First and second derivatives of `lamina.special` and of elementary functions at ends, zeros, poles and infinities.

    python tests/sweep_slopes.py [name ...]

At each point, and by each operand, derivatives in forward and in reverse mode are compared with each other and with the limit
of those of the function in mpmath, from inside of its domain. Where the two sides have different limits, or mpmath finds none,
the modes must agree alone. Derivatives by both operands of a function are compared between the modes.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import mpmath as mp
import numpy as np
from sweep_special import PRECISE, Row
from sweep_special import TABLE as SPECIAL

INF, NAN = math.inf, math.nan
_ENDS = [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, INF, -INF]
ONE = [*_ENDS, -3.0, 1e-9, -1e-9, 1 + 1e-9, 1 - 1e-9, -1 + 1e-9, 0.1249, 0.1251, 7.999, 8.0, 11.0, 40.0, -40.5, 800.0, -800.0]
TWO = list(itertools.product(_ENDS, repeat=2))
_STEPS = (-10, -20, -40)
_FAR = (3, 6, 12)
_TOLERANCE = 1e-7


def _by_itself(reference: Callable[[Any], Any], function: Callable[[Any], Any]) -> Row:
    return Row(reference, [(-INF, INF)], function)


ELEMENTARY: dict[str, Row] = {
    **{
        name: _by_itself(getattr(mp, other or name), getattr(lnp, name))
        for name, other in (
            *((name, "") for name in "sqrt cbrt exp sin cos tan sinh cosh tanh log log1p expm1 log10".split()),
            *(("arc" + name, "a" + name) for name in "sin cos tan sinh cosh tanh".split()),
        )
    },
    "log2": _by_itself(lambda x: mp.log(x) / mp.log(2), lnp.log2),
    "exp2": _by_itself(lambda x: mp.mpf(2) ** x, lnp.exp2),
    "rsqrt": _by_itself(lambda x: 1 / mp.sqrt(x), lm.lax.rsqrt),
    "reciprocal": _by_itself(lambda x: 1 / x, lnp.reciprocal),
    "square": _by_itself(lambda x: x * x, lnp.square),
    "log_sigmoid": _by_itself(lambda x: -mp.log1p(mp.exp(-x)), lm.nn.log_sigmoid),
    "silu": _by_itself(lambda x: x / (1 + mp.exp(-x)), lm.nn.silu),
    "mish": _by_itself(lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), lm.nn.mish),
    "gelu": _by_itself(lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, lambda x: lm.nn.gelu(x, approximate=False)),
    "squareplus": _by_itself(lambda x: (x + mp.sqrt(x * x + 4)) / 2, lm.nn.squareplus),
    "logaddexp": Row(lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), [(-INF, INF)] * 2, lnp.logaddexp),
    "logaddexp2": Row(lambda x, y: mp.log(2**x + 2**y) / mp.log(2), [(-INF, INF)] * 2, lnp.logaddexp2),
    "hypot": Row(mp.hypot, [(-INF, INF)] * 2, lnp.hypot),
    "arctan2": Row(mp.atan2, [(-INF, INF)] * 2, lnp.arctan2),
    "power": Row(mp.power, [(-INF, INF)] * 2, lnp.power),
}
TABLE = {**{name: row for name, row in SPECIAL.items() if "complex" not in name and "wofz" not in name}, **ELEMENTARY}
EXCEPT: dict[str, Callable[..., bool]] = {
    # infinite as beside one operand that moves up: the sides differ, as those of `digamma`
    "beta": lambda a, b: min(a, b) < 0 and math.isinf(lm.special.beta(a, b)),
    "betaln": lambda a, b: min(a, b) < 0,
    # a recurrence from an order that is large for small arguments alone
    "bessel_jn 3": lambda x: abs(x) > 30,
    # one to an infinite power
    "boxcox": lambda x, p: x == 1 and math.isinf(p),
    "boxcox1p": lambda x, p: x == 0 and math.isinf(p),
    # outside of the domain, where values are 0, infinite or one-sided by convention, and kinks
    "comb": lambda n, k: not 0 < k < n,
    "perm": lambda n, k: not 0 < k < n,
    "entr": lambda x: x < 0,
    "factorial": lambda x: x < 0,
    "gammaln": lambda x: x < 0,
    "huber": lambda delta, r: delta <= 0,
    "pseudo_huber": lambda delta, r: delta <= 0,
    "kl_div": lambda x, y: min(x, y) < 0,
    "rel_entr": lambda x, y: min(x, y) < 0,
    "i0e": lambda x: x == 0,
    # one operand has the slope where both are infinite
    "logaddexp": lambda x, y: x == y == -INF,
    "logaddexp2": lambda x, y: x == y == -INF,
    # a jump
    "arctan2": lambda y, x: x == y == 0,
    # of bases that have no logarithm
    "power": lambda x, y: x < 0,
}
"""Where limits are not promised."""
WITHOUT_LIMITS = {*PRECISE, "owens_t", "sph_harm_y 5 3", "sph_harm_y 40 7", "hyp1f1", "hyp2f1", "fresnel s", "fresnel c"}
"""Where mpmath is slow, or the result has an imaginary part: the modes are compared alone."""


def points(row: Row) -> list[list[float]]:
    """Operands, each a list with an entry a point."""
    n = len(row.ranges)
    if n == 1:
        return [ONE]
    rows = TWO if n == 2 else [(*two, x) for two in itertools.product((0.0, 1.0, 2.5, INF), repeat=2) for x in (0.0, 0.5, 1.0)]
    return [list(column) for column in zip(*rows, strict=True)]


def derivatives(function: Callable[..., Any], operands: Sequence[np.ndarray], k: int) -> dict[str, np.ndarray]:
    """Derivatives by an operand in both modes; `mixed` ones by the next operand of the first one."""

    def reverse(f: Callable[..., Any], k: int) -> Callable[..., Any]:
        return lm.grad(lambda *xs: f(*xs).sum(), k)

    def forward(f: Callable[..., Any], k: int) -> Callable[..., Any]:
        def along(*xs: Any) -> Any:
            return lm.jvp(lambda v: f(*xs[:k], v, *xs[k + 1 :]), (xs[k],), (lnp.ones_like(xs[k]),))[1]

        return along

    f, j = lambda *xs: lnp.real(function(*xs)), (k + 1) % len(operands)
    modes: dict[str, Callable[..., Any]] = {
        "1 reverse": reverse(f, k),
        "1 forward": forward(f, k),
        "2 reverse": reverse(reverse(f, k), k),
        "2 forward": forward(forward(f, k), k),
    }
    if j > k:
        modes |= {"mixed reverse": reverse(reverse(f, k), j), "mixed forward": forward(forward(f, k), j)}
    found = lm.jit(lambda *xs: {"value": f(*xs), **{name: mode(*xs) for name, mode in modes.items()}})(*operands)
    return {name: np.asarray(value) for name, value in found.items()}


def _near(reference: Callable[[Any], Any], point: float, order: int, side: int) -> float | None:
    """The limit of a derivative from one side; NaN where none is seen, None outside of the domain."""
    found = []
    for step, far in zip(_STEPS, _FAR, strict=True):
        x = mp.mpf(10) ** far * (1 if point > 0 else -1) if math.isinf(point) else point + side * mp.mpf(10) ** step
        try:
            value = mp.diff(reference, x, order, relative=True) if math.isinf(point) else mp.diff(reference, x, order)
        except (
            ValueError,
            ZeroDivisionError,
            OverflowError,
            NotImplementedError,
            mp.libmp.ComplexResult,
            mp.libmp.NoConvergence,
        ):
            return None
        if abs(mp.im(value)) > 1e-30 * abs(value) or not mp.isfinite(value):
            return None
        found.append(mp.re(value))
    first, second, third = found
    if abs(third - second) <= _TOLERANCE / 10 * abs(third):
        return float(third)
    if abs(third) < 1e-3 * abs(second) < 1e-5 * abs(first) or max(abs(second), abs(third)) < 1e-30:
        return 0.0
    if abs(third) > abs(second) > abs(first) and abs(third - second) > 0.9 * abs(second - first):
        return INF if third > 0 else -INF
    return NAN


def limit(reference: Callable[[Any], Any], point: float, order: int) -> float:
    """The limit of a derivative from inside of the domain; NaN where it is not known."""
    with mp.workdps(60):
        sides = (1,) if math.isinf(point) else (1, -1)
        found = [v for v in (_near(reference, point, order, side) for side in sides) if v is not None]
    return found[0] if found and all(_same(v, found[0]) for v in found) else NAN


def _same(a: float, b: float, scale: float = 0.0) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= _TOLERANCE * max(abs(a), abs(b), scale)


def faults(name: str) -> list[str]:
    """What is wrong with the derivatives of a function, a line each."""
    row = TABLE[name]
    function = row.function or getattr(lm.special, name)
    columns = points(row)
    operands = [np.array(column) for column in columns]
    lines = []
    for k in range(len(columns)):
        found = derivatives(function, operands, k)
        for i, point in enumerate(zip(*columns, strict=True)):
            for order in ("1", "2", "mixed"):
                if f"{order} reverse" not in found:
                    continue
                got, other = (float(found[f"{order} {mode}"][i]) for mode in ("reverse", "forward"))
                where = f"{name} by operand {k} at {', '.join(f'{x:g}' for x in point)}, order {order}:"
                if not _same(got, other, 1e-6):
                    lines.append(f"{where} {got:g} in reverse, {other:g} in forward mode")
                excepted = name in EXCEPT and EXCEPT[name](*point)
                if order == "mixed" or name in WITHOUT_LIMITS or excepted or math.isnan(found["value"][i]):
                    continue
                xs = [mp.mpf(x) for x in point]
                want = limit(lambda v, xs=xs, k=k: row.reference(*xs[:k], v, *xs[k + 1 :]), point[k], int(order))
                # results of about the least numbers, and of rounding errors of those of about 1, are 0
                if not math.isnan(want) and not _same(got, want, 1e-6):
                    lines.append(f"{where} {got:g}, the limit is {want:g}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    count = 0
    for name in parser.parse_args().names or TABLE:
        for line in faults(name):
            count += 1
            print(line, flush=True)
    print(f"{count} faults", file=sys.stderr)
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
