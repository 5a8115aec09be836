"""`tune`: what it tries is legal and determined by the seed, what it finds is kept as text and used by later compilations."""

from __future__ import annotations

import random
import re

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina import pipeline
from lamina.codegen import tuned
from lamina.executor import kernels
from lamina.frontend.kernel import tune as tuning
from lamina.lowering.tuned_schedules import tuning_key


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE", "1")
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tuned, "_found", {})


def kernel_of(function, *args):
    module = function.lower(*args).module
    pipeline.run_to(module, "loop")
    return kernels.find_kernel(module)


def product(x, w):
    return lnp.maximum(x @ w, 0.0)


X = np.random.default_rng(0).uniform(-1, 1, (40, 24)).astype(np.float32)
Y = np.random.default_rng(1).uniform(-1, 1, (24, 33)).astype(np.float32)


def test_results_stay_and_what_is_found_is_no_slower():
    f = lm.jit(product)
    before = f(X, Y)
    (found,) = lm.tune(f, X, Y, seconds=0.3)
    assert found.candidates >= 1 and found.seconds <= found.default_seconds
    np.testing.assert_allclose(f(X, Y), before, rtol=1e-5, atol=1e-6)
    assert (found.path is None) == (tuned.load(tuning_key(kernel_of(f, X, Y))) is None)


def test_kernels_written_by_hand():
    @lm.kernel
    def blur(x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(1, x.shape[0] - 1):
            y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3

    x = np.arange(100, dtype=np.float32)
    y, z = np.zeros(100, np.float32), np.zeros(100, np.float32)
    blur(x, y)
    (found,) = lm.tune(blur, x, z, seconds=0.3)
    assert found.kernel == "blur" and (z == 0).all(), "it is measured on copies"
    blur(x, z)
    np.testing.assert_array_equal(y, z)
    blur.schedule().vectorize("i", 4)
    with pytest.raises(ValueError, match="scheduled by hand"):
        lm.tune(blur, x, z)


def test_a_schedule_that_is_kept_is_used_and_may_be_edited():
    f = lm.jit(lambda x: x * 2 + 1)
    x = np.ones(1000, np.float32)
    before = f.lower(x).as_text("scheduled")
    key = tuning_key(kernel_of(f, x))
    path = tuned.save(key, "loop-vectorize{loop=i lanes=2}", "by hand")
    assert path is not None and path.read_text().startswith("# lamina schedule 1\n# by hand\nloop-vectorize")
    assert "vector<2xf32>" not in before and "vector<2xf32>" in f.lower(x).as_text("scheduled")
    np.testing.assert_array_equal(lm.jit(lambda x: x * 2 + 1)(x), x * 3)
    path.write_text("# lamina schedule 1\nloop-vectorize{loop=i\n  lanes=64}\n")
    path.write_text("# lamina schedule 1\nloop-split{loop=i size=64}\n# a comment\nloop-vectorize{loop=ii lanes=64}\n")
    assert "vector<64xf32>" in f.lower(x).as_text("scheduled")
    path.unlink()
    assert f.lower(x).as_text("scheduled") == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "loop-vectorize{loop=i lanes=2}",  # without its first line
        "# lamina schedule 1\nloop-vectorize{loop=i lanes=3}\n",
        "# lamina schedule 1\nloop-vectorize{loop=i lanes=2}\nloop-vectorize{loop=none lanes=2}\n",
        "# lamina schedule 1\ngraph-dce\n",
        "# lamina schedule 1\nloop-nothing{\n",
        "# lamina schedule 1\n\x00\xff\n",
    ],
)
def test_a_file_that_is_wrong_is_ignored(text, fallbacks):
    f = lm.jit(lambda x: x * 2 + 1)
    x = np.ones(1000, np.float32)
    before = f.lower(x).as_text("scheduled")
    path = tuned.save(tuning_key(kernel_of(f, x)), "loop-vectorize{loop=i lanes=2}", "")
    assert path is not None
    path.write_bytes(text.encode("latin-1"))
    after = f.lower(x).as_text("scheduled")
    assert re.sub(r' fallbacks\("the tuned schedule failed: .*"\)', "", after) == before
    assert bool(fallbacks) == (after != before)
    np.testing.assert_array_equal(lm.jit(lambda x: x * 2 + 1)(x), x * 3)


def test_candidates_follow_from_the_seed():
    def candidates(seed):
        module = lm.jit(product).lower(X, Y).module
        pipeline.run_to(module, "loop")
        (kernel,) = (kernels.find_kernel(module),)
        (default,) = tuning._default_steps(module).values()
        search = tuning._Search(kernel, lm.target(), default, None, seed)
        return [tuning._text(search.mutated()) for _ in range(30)]

    assert candidates(3) == candidates(3) != candidates(4)


def test_without_a_cache_what_is_found_lasts_as_long_as_the_process(monkeypatch):
    monkeypatch.setenv("LAMINA_CACHE", "0")
    f = lm.jit(lambda x: x * 2 + 1)
    x = np.ones(1000, np.float32)
    assert tuned.save(tuning_key(kernel_of(f, x)), "loop-vectorize{loop=i lanes=2}", "") is None
    assert "vector<2xf32>" in f.lower(x).as_text("scheduled")


def test_what_is_refused():
    with pytest.raises(TypeError, match="takes what jit or kernel made"):
        lm.tune(lambda x: x, X)
    with pytest.raises(ValueError, match="seconds above 0"):
        lm.tune(lm.jit(product), X, Y, seconds=0)


def test_numbers_near_others():
    rng = random.Random(0)
    for value in (1, 2, 7, 48, (8, 48)):
        for _ in range(20):
            other = tuning._other(rng, value)
            assert other != value and type(other) is type(value)
            assert all(v >= 1 for v in (other if isinstance(other, tuple) else (other,)))


def scaled():
    """A kernel, made anew: what another process would have."""

    @lm.kernel
    def scale(x: lm.f32["M", "N"], y: lm.f32["M", "N"]):
        for i, j in lm.grid(x.shape):
            y[i, j] = 2.0 * x[i, j]

    return scale


def test_the_schedule_that_is_shown_is_the_one_that_runs():
    kernel, x, y = scaled(), np.ones((20, 50), np.float32), np.zeros((20, 50), np.float32)
    by_default = str(kernel.default_schedule())
    kernel(x, y)
    tuned.save(tuning_key(kernels.find_kernel(kernel.__kernel__.module)), "loop-vectorize{loop=j lanes=4}", "by hand")
    kernel.reset()
    for shown in (kernel, scaled()):
        assert str(shown.default_schedule()) == "loop-vectorize{loop=j lanes=4}" != by_default
        text = shown.as_text("scheduled")
        assert "vector<4xf32>" in text and "parallel" not in text
        y[:] = 0
        shown(x, y)
        assert (y == 2).all() and "4 lanes" in str(shown.explain(x, y))
        ran = kernels.scheduled_by_default(shown.__kernel__.module)
        assert "vector<4xf32>" in str(ran) and "vector<8xf32>" not in str(ran)
        assert "<4 x float>" in shown.as_text("llvmir")
    steps = kernel.schedule()
    for step in kernel.default_schedule().steps:
        steps.take(step)
    assert str(steps) == "loop-vectorize{loop=j lanes=4}"


def test_steps_that_are_not_legal_leave_the_default_schedule():
    kernel = scaled()
    by_default = str(kernel.default_schedule())
    tuned.save(tuning_key(kernels.find_kernel(kernel.__kernel__.module)), "loop-vectorize{loop=nowhere lanes=4}", "wrong")
    assert str(scaled().default_schedule()) == by_default
