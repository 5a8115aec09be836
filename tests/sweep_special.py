"""Errors of `lamina.special` over whole domains, against mpmath, in units in the last place.

    python tests/sweep_special.py [name ...] [--points N] [--write]

Points are log-uniform, of both signs where the domain has them, and beside them the ends of the domain, integers, halves of
integers, and neighbours of those. An error is counted twice: relative to the result, and relative to what the result moves if
the argument moves by as much, if that is more: no function of a rounded number is better than that near a zero of the result,
and far out where it oscillates or decays. Complex results are measured by their magnitude. `--write` puts the second one, the
stated bound, into docs/semantics.md.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lamina as lm
import mpmath as mp
import numpy as np
from mpmath import libmp

DOCS = Path(__file__).parents[1] / "docs" / "semantics.md"
BEGIN, END = "<!-- tests/sweep_special.py -->", "<!-- end -->"
Range = tuple[float, float]
S: Any = lm.special


@dataclass(frozen=True)
class Row:
    """A function, what it is in mpmath, and from where to where each argument goes, by dtype if they differ."""

    reference: Callable[..., Any]
    ranges: Sequence[Range]
    function: Callable[..., Any] | None = None
    ranges32: Sequence[Range] | None = None


def _phi(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _xlogy(x: Any, y: Any) -> Any:
    return x * mp.log(y) if x else mp.mpf(0)


def _exprel(x: Any) -> Any:
    return mp.expm1(x) / x if x else mp.mpf(1)


def _box_cox(x: Any, p: Any) -> Any:
    return mp.expm1(p * mp.log(x)) / p if p else mp.log(x)


def _owens_t(h: Any, a: Any) -> Any:
    if a > 1:  # Owen's relation
        p, q = mp.erfc(h / mp.sqrt(2)) / 2, mp.erfc(a * h / mp.sqrt(2)) / 2
        return (p + q) / 2 - p * q - _owens_t(a * h, 1 / a)
    ends = [0, *(k / h for k in (1, 3, 8, 16) if k < a * h), min(a, 30 / h)]
    return mp.exp(-h * h / 2) * mp.quad(lambda t: mp.exp(-h * h * t * t / 2) / (1 + t * t), ends) / (2 * mp.pi)


def _wofz(x: Any, y: Any) -> Any:
    z = mp.mpc(x, y)
    return mp.exp(-z * z) * mp.erfc(-1j * z)


_POSITIVE = (1e-30, 1e30)
_REAL = (-1e4, 1e4)
TABLE: dict[str, Row] = {
    "agm": Row(mp.agm, [(1e-10, 1e10)] * 2),
    "bessel_jn 3": Row(lambda x: mp.besselj(3, x), [(-20, 20)], lambda x: S.bessel_jn(x, v=3)[3]),
    "beta": Row(lambda a, b: mp.gammaprod([a, b], [a + b]), [(1e-8, 1e4)] * 2),
    "betaln": Row(lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), [(1e-8, 1e12)] * 2),
    "betainc": Row(lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), [(0.1, 40), (0.1, 40), (1e-4, 1)]),
    "boxcox": Row(_box_cox, [(1e-6, 1e6), (-4, 4)]),
    "boxcox1p": Row(lambda x, p: _box_cox(1 + x, p), [(1e-20, 1e6), (-4, 4)]),
    "comb": Row(mp.binomial, [(50, 1e6), (1e-3, 20)]),
    "cosm1": Row(lambda x: -2 * mp.sin(x / 2) ** 2, [(-1e3, 1e3)]),
    "dawsn": Row(lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), [(-30, 30)]),
    "digamma": Row(mp.digamma, [(-50, 1e8)]),
    "ellipe": Row(mp.ellipe, [(-1e6, 1)]),
    "ellipk": Row(mp.ellipk, [(-1e6, 1)]),
    "ellipkm1": Row(lambda p: mp.ellipk(1 - p), [(1e-25, 1e6)]),
    "entr": Row(lambda x: -_xlogy(x, x), [_POSITIVE]),
    "erf": Row(mp.erf, [(-10, 10)]),
    "erfc": Row(mp.erfc, [(-10, 26)], None, [(-9, 9)]),
    "erfcinv": Row(lambda y: mp.erfinv(1 - y), [(1e-20, 2)]),
    "erfcx": Row(lambda x: mp.exp(x * x) * mp.erfc(x), [(-26, 1e10)], None, [(-9, 1e10)]),
    "erfi": Row(mp.erfi, [(-26, 26)], None, [(-9, 9)]),
    "erfinv": Row(mp.erfinv, [(-1, 1)]),
    "exp1": Row(mp.e1, [(1e-30, 700)], None, [(1e-30, 80)]),
    "expi": Row(mp.ei, [(-600, 700)], None, [(-80, 80)]),
    "expit": Row(lambda x: 1 / (1 + mp.exp(-x)), [(-700, 700)], None, [(-80, 80)]),
    "expn": Row(lambda x: mp.expint(3, x), [(1e-10, 600)], lambda x: S.expn(3, x), [(1e-10, 80)]),
    "exprel": Row(_exprel, [(-700, 700)], None, [(-80, 80)]),
    "factorial": Row(mp.factorial, [(1e-20, 170)], None, [(1e-20, 33)]),
    "fresnel s": Row(mp.fresnels, [(-1e2, 1e2)], lambda x: S.fresnel(x)[0]),
    "fresnel c": Row(mp.fresnelc, [(-1e2, 1e2)], lambda x: S.fresnel(x)[1]),
    "gamma": Row(mp.gamma, [(-170, 171)], None, [(-33, 34)]),
    "gammainc": Row(lambda a, x: mp.gammainc(a, 0, x, regularized=True), [(0.1, 100), (1e-3, 200)]),
    "gammaincc": Row(lambda a, x: mp.gammainc(a, x, regularized=True), [(0.1, 100), (1e-3, 80)]),
    "gammaln": Row(lambda x: mp.re(mp.loggamma(x)), [(-100, 1e30)]),
    "huber": Row(lambda d, r: r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2), [(1e-3, 1e3), (-1e3, 1e3)]),
    "hyp1f1": Row(lambda x: mp.hyp1f1(1.5, 2.25, x), [(-20, 50)], lambda x: S.hyp1f1(1.5, 2.25, x)),
    "hyp2f1": Row(lambda x: mp.hyp2f1(0.5, 1.5, 2.25, x), [(-0.9, 0.9)], lambda x: S.hyp2f1(0.5, 1.5, 2.25, x)),
    "i0": Row(lambda x: mp.besseli(0, x), [(-700, 700)], None, [(-80, 80)]),
    "i0e": Row(lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), [(-1e4, 1e4)]),
    "i1": Row(lambda x: mp.besseli(1, x), [(-700, 700)], None, [(-80, 80)]),
    "i1e": Row(lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), [(-1e4, 1e4)]),
    "inv_boxcox": Row(lambda y, p: mp.exp(mp.log1p(p * y) / p) if p else mp.exp(y), [(1e-6, 5), (1e-12, 4)]),
    "inv_boxcox1p": Row(lambda y, p: mp.expm1(mp.log1p(p * y) / p) if p else mp.expm1(y), [(1e-6, 5), (1e-12, 4)]),
    "j0": Row(lambda x: mp.besselj(0, x), [(-1e4, 1e4)]),
    "j1": Row(lambda x: mp.besselj(1, x), [(-1e4, 1e4)]),
    "kl_div": Row(lambda x, y: _xlogy(x, x / y) - x + y, [(1e-10, 1e10)] * 2),
    "log_expit": Row(lambda x: -mp.log1p(mp.exp(-x)), [(-1e4, 700)], None, [(-1e4, 80)]),
    "log_ndtr": Row(lambda x: mp.log1p(-_phi(-x)) if x > 0 else mp.log(_phi(x)), [(-1e4, 36)], None, [(-1e4, 12)]),
    "loggamma": Row(mp.loggamma, [(1e-30, 1e30)]),
    "loggamma complex": Row(
        lambda x, y: mp.loggamma(mp.mpc(x, y)), [(-100, 1e10), (-1e5, 1e5)], lambda x, y: S.loggamma(lm.lax.complex(x, y))
    ),
    "logit": Row(lambda p: mp.log(p) - mp.log1p(-p), [(1e-30, 1)]),
    "multigammaln": Row(
        lambda a: 3 * mp.log(mp.pi) / 2 + sum(mp.loggamma(a - mp.mpf(k) / 2) for k in range(3)),
        [(1.1, 1e10)],
        lambda x: S.multigammaln(x, 3),
    ),
    "ndtr": Row(_phi, [(-37, 10)], None, [(-12.5, 10)]),
    "ndtri": Row(lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), [(1e-20, 1)]),
    "owens_t": Row(_owens_t, [(1e-10, 35), (1e-10, 1e5)], None, [(1e-10, 12), (1e-10, 1e5)]),
    "perm": Row(lambda n, k: mp.gammaprod([n + 1], [n - k + 1]), [(50, 1e6), (1e-3, 20)], None, [(50, 1e4), (1e-3, 8)]),
    "poch": Row(lambda z, m: mp.gammaprod([z + m], [z]), [(1e-6, 1e10), (-8, 10)]),
    "polygamma 1": Row(lambda x: mp.polygamma(1, x), [(1e-10, 1e10)], lambda x: S.polygamma(1, x)),
    "polygamma 4": Row(lambda x: mp.polygamma(4, x), [(1e-5, 1e5)], lambda x: S.polygamma(4, x)),
    "pseudo_huber": Row(lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1), [(1e-3, 1e3), (-1e3, 1e3)]),
    "rel_entr": Row(lambda x, y: _xlogy(x, x / y), [(1e-10, 1e10)] * 2),
    "rgamma": Row(mp.rgamma, [(-170, 170)], None, [(-33, 33)]),
    "sici si": Row(mp.si, [(-1e3, 1e3)], lambda x: S.sici(x)[0]),
    "sici ci": Row(mp.ci, [(1e-10, 1e3)], lambda x: S.sici(x)[1]),
    "sinc": Row(mp.sincpi, [(-1e3, 1e3)]),
    "sph_harm_y 5 3": Row(
        lambda t, p: mp.spherharm(5, 3, t, p), [(1e-8, 3.14), (-3.14, 3.14)], lambda t, p: S.sph_harm_y(5, 3, t, p)
    ),
    "sph_harm_y 40 7": Row(
        lambda t, p: mp.spherharm(40, 7, t, p), [(1e-3, 3.14), (-3.14, 3.14)], lambda t, p: S.sph_harm_y(40, 7, t, p)
    ),
    "softplus": Row(lambda x: mp.log1p(mp.exp(x)), [(-700, 1e4)], None, [(-80, 1e4)]),
    "spence": Row(lambda x: mp.re(mp.polylog(2, 1 - x)), [(1e-20, 1e10)]),
    "wofz above": Row(_wofz, [(-1e3, 1e3), (1e-10, 1e3)], lambda x, y: S.wofz(lm.lax.complex(x, y))),
    "wofz below": Row(
        lambda x, y: _wofz(x, -y),
        [(-20, 20), (1e-10, 20)],
        lambda x, y: S.wofz(lm.lax.complex(x, -y)),
        [(-8, 8), (1e-10, 8)],
    ),
    "xlog1py": Row(lambda x, y: x * mp.log1p(y), [(-1e10, 1e10), (1e-20, 1e10)]),
    "xlogy": Row(_xlogy, [(-1e10, 1e10), (1e-20, 1e10)]),
    "zeta": Row(mp.zeta, [(1.0001, 60)]),
    "zeta q": Row(mp.zeta, [(1.01, 30), (0.1, 1e3)], S.zeta),
}


PRECISE = ("betainc", "gammainc", "gammaincc", "zeta q")
"""What mpmath gives with an error that is absolute, and so far off where it is small."""


def drawn(ranges: Sequence[Range], dtype: np.dtype, points: int, seed: int) -> list[np.ndarray]:
    """Arguments: most of them log-uniform, the rest at and beside integers and halves, and at the ends of their ranges."""
    rng = np.random.default_rng(seed)
    found = []
    for low, high in ranges:
        least = low if low > 0 else min(1e-8, high / 10)
        size = np.exp(rng.uniform(math.log(least), math.log(max(high, -low)), points))
        sign = rng.choice([-1, 1], points) if low < 0 else 1
        special = (
            np.rint(2 * rng.uniform(max(low, -60), min(high, 60), points)) / 2 * (1 + rng.choice([0, 0, 1e-7, -1e-12], points))
        )
        x = np.where(rng.uniform(size=points) < 0.25, special, size * sign)
        if high == 1:  # towards an end inside
            x = np.where(rng.uniform(size=points) < 0.3, 1 - np.exp(rng.uniform(math.log(1e-7), 0, points)), x)
        x = x.astype(dtype)
        found.append(np.where((x > low) & (x < high), x, rng.uniform(max(low, -50), min(high, 50), points).astype(dtype)))
    return found


def errors(name: str, dtype: np.dtype, points: int, seed: int = 0) -> tuple[float, float, tuple[float, ...]]:
    """The largest error relative to the result; beside the motion of the argument, and where."""
    row = TABLE[name]
    ranges = row.ranges32 if row.ranges32 and dtype == np.float32 else row.ranges
    args = drawn(ranges, dtype, points, seed)
    got = np.asarray(lm.jit(row.function or getattr(S, name))(*args))
    part = mp.mpmathify if np.iscomplexobj(got) else mp.re
    info, worst = np.finfo(dtype), (0.0, 0.0, ())
    with mp.workdps(150 if name in PRECISE else 50):
        for k, value in enumerate(got.tolist()):
            point = [float(a[k]) for a in args]
            xs = [mp.mpf(x) for x in point]
            try:
                want = part(row.reference(*xs))
                if not 4 * info.smallest_normal < abs(want) < info.max:
                    continue
                step = mp.mpf(2) ** -60
                moved = max(
                    abs(part(row.reference(*(x * (1 + step * (i == j)) for j, x in enumerate(xs)))) - want) / step
                    for i in range(len(xs))
                )
            except (ValueError, ZeroDivisionError, libmp.ComplexResult, NotImplementedError, libmp.NoConvergence):
                continue  # a pole
            # units in the last place of a number are between eps / 2 and eps of it
            unit = mp.mpf(2) ** (mp.frexp(abs(want))[1] - 1) * float(info.eps)
            error = abs(mp.mpmathify(value) - want) if np.isfinite(value) else mp.inf
            plain, fair = float(error / unit), float(error / max(unit, moved * float(info.eps)))
            worst = max(worst[0], plain), *max((worst[1], worst[2]), (fair, tuple(point)))
    return worst


def table(measured: dict[str, tuple[float, float]]) -> str:
    """The table of docs/semantics.md: bounds that have some room above what was measured, functions by bound."""
    groups: dict[int, list[str]] = {}
    for name, (single, double) in measured.items():
        bound = 2 ** max(1, math.ceil(math.log2(1.3 * max(single, double))))
        groups.setdefault(bound, []).append(name)
    lines = ["| units in the last place, at most | functions |", "|---|---|"]
    return "\n".join([*lines, *(f"| {bound} | {', '.join(f'`{n}`' for n in groups[bound])} |" for bound in sorted(groups))])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    measured: dict[str, tuple[float, float]] = {}
    for name in options.names or TABLE:
        found = [errors(name, np.dtype(dtype), options.points) for dtype in ("float32", "float64")]
        measured[name] = found[0][1], found[1][1]
        shown = "   ".join(f"{plain:10.3g} {fair:10.3g} at {', '.join(f'{x:.9g}' for x in at):28}" for plain, fair, at in found)
        print(f"{name:14} {shown}", flush=True)
    if options.write:
        text = DOCS.read_text(encoding="utf-8")
        head, rest = text.split(BEGIN)
        DOCS.write_text(f"{head}{BEGIN}\n\n{table(measured)}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
