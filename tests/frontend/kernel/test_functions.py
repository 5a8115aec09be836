"""Every elementary function of math and NumPy in kernels gives what the module that it is from gives."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 1e-300, -1e-300, 5e-324, 1e300, -1e300, 1e-8, -1e-8, 1e8, 0.35, 7.5]
SPECIAL += [
    math.inf,
    -math.inf,
    math.nan,
    1000.0,
    8.0,
    1024.0,
    170.5,
    -2.5,
    709.9,
    -745.0,
    20.5,
    math.pi,
    1 - 2**-53,
    1 + 2**-52,
]
X = np.concatenate([SPECIAL, np.random.default_rng(0).normal(size=200) * 3, np.random.default_rng(1).uniform(-1, 1, 100)])
Y = np.concatenate([np.random.default_rng(2).permutation(X)[: X.size - 3], [0.0, 1.0, -1.0]])

OF_ONE = {
    "math": "acos acosh asin asinh atan atanh cbrt cos cosh degrees erf erfc exp exp2 expm1 fabs gamma isfinite isinf isnan"
    " lgamma log log10 log1p log2 radians sin sinh sqrt tan tanh ulp",
    "np": "absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil conjugate cos cosh deg2rad degrees exp exp2 expm1"
    " fabs floor isfinite isinf isnan log log10 log1p log2 negative positive rad2deg radians reciprocal rint sign signbit sin"
    " sinc sinh spacing sqrt square tan tanh trunc nan_to_num real imag angle isposinf isneginf logical_not",
}
OF_TWO = {
    "math": "atan2 copysign fmod hypot isclose nextafter pow remainder",
    "np": "add arctan2 copysign divide equal float_power floor_divide fmax fmin fmod greater greater_equal heaviside hypot"
    " isclose less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum mod multiply"
    " nextafter not_equal power remainder subtract true_divide",
}
OF_INTEGERS = {
    "math": "gcd lcm comb perm",
    "np": "add bitwise_and bitwise_or bitwise_xor floor_divide gcd lcm left_shift maximum minimum mod multiply power remainder"
    " right_shift subtract",
}
PAIRS = {"math": "frexp modf", "np": "frexp modf"}
OF_MATH = {name for table in (OF_ONE, OF_TWO, OF_INTEGERS, PAIRS) for name in table["math"].split()}
ROWS = [
    pytest.param(kind, module, name, marks=[pytest.mark.thorough] if module == "np" and name in OF_MATH else [])
    for kind, table in (("x[i]", OF_ONE), ("x[i], y[i]", OF_TWO), ("integers", OF_INTEGERS), ("pair", PAIRS))
    for module, names in table.items()
    for name in names.split()
]


def made(tmp_path: Path, kind: str, module: str, name: str, dtype: str) -> Any:
    """A kernel that calls the function for each element."""
    out = "f64" if kind == "pair" else dtype
    text = "import math\nimport numpy as np\nimport lamina as lm\n\n\n"
    text += f"@lm.kernel\ndef k(x: lm.{dtype}['N'], y: lm.{dtype}['N'], out: lm.{out}[2, 'N']):\n    for i in range(len(x)):\n"
    given = "x[i], y[i]" if kind == "integers" else kind
    if kind == "pair":
        text += f"        out[0, i], out[1, i] = {module}.{name}(x[i])\n"
    else:
        text += f"        out[0, i] = {module}.{name}({given})\n"
    path = tmp_path / f"of_{module}_{name}_{dtype}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.k


def expected(module: str, name: str, dtype: str, *args: Any) -> Any:
    """The function's value; NumPy's, or NaN, where math raises."""
    if module == "np":
        return getattr(np, name)(*args)
    try:
        return getattr(math, name)(*(x.item() for x in args))
    except (ValueError, OverflowError):
        return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("kind", "module", "name"), ROWS, ids=lambda part: part.replace(" ", ""))
def test_as_in_its_module(tmp_path: Path, kind: str, module: str, name: str) -> None:
    for dtype in ("i64",) if kind == "integers" else ("f64",) if kind == "pair" else ("f64", "f32"):
        x, y = X, Y
        if kind == "integers":
            rng = np.random.default_rng(3)
            x, y = rng.integers(0 if name in ("comb", "perm") else -20, 20, 200), rng.integers(0, 12, 200)
        element = getattr(lm, dtype).dtype
        x, y = x.astype(element), y.astype(element)
        out = np.zeros((2, x.size), np.float64 if kind == "pair" else element)
        made(tmp_path, kind, module, name, dtype)(x, y, out)
        args = (x, y) if kind in ("integers", "x[i], y[i]") else (x,)
        wants = [expected(module, name, dtype, *each) for each in zip(*args, strict=True)]
        known = [k for k, want in enumerate(wants) if want is not None]  # elsewhere math raises
        got = out[: 2 if kind == "pair" else 1, known].T
        wanted = np.array([np.atleast_1d(wants[k]).astype(out.dtype) for k in known])
        args = tuple(arg[known] for arg in args)
        eps = 2e-7 if dtype == "f32" else 2e-15 if name not in ("gamma", "lgamma") else 4e-14
        least = 1e-45 if dtype == "f32" else 5e-324
        if name in ("power", "pow", "float_power", "exp2"):
            eps *= 4
        size = np.abs(wanted)
        if name.startswith("logaddexp") or name == "sinc":  # NumPy's is rounded on the way
            size = np.maximum(size, np.max(np.abs(args), 0)[:, None])
        close = np.abs(got - wanted) <= eps * size + 2 * least
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | close
        if name == "lgamma":
            same |= np.abs(got - wanted) < 1e-14  # beside its zeros
        assert len(known) > 50 and got.shape == wanted.shape
        for k in np.flatnonzero(~same.all(1)):
            raise AssertionError(f"{module}.{name}{[arg[k] for arg in args]} in {dtype}: {got[k]}, not {wanted[k]}")


def test_exact_logarithms() -> None:
    @lm.kernel
    def logs(x: lm.f64["N"], y: lm.f64["N"], out: lm.f64[2, "N"]):
        for i in range(len(x)):
            out[0, i] = math.log2(x[i])
            out[1, i] = math.log10(y[i])

    k = np.arange(-22.0, 23.0)
    out = np.zeros((2, k.size))
    logs(2.0 ** (k * 20), np.array([float(f"1e{int(n)}") for n in k]), out)
    assert (out[0] == k * 20).all() and (out[1][22:] == k[22:]).all()
    assert np.allclose(out[1], k, rtol=1e-15)


def test_round_and_close_take_names() -> None:
    @lm.kernel
    def close(a: lm.f64, b: lm.f64):
        return math.isclose(a, b, rel_tol=1e-3), np.isclose(a, b, atol=0.1)

    assert close(1.0, 1.0005) == (True, True) and close(1.0, 1.05) == (False, True)
