"""Programs on a registered device: what is copied, what is launched, what is refused."""

from __future__ import annotations

import gc
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina import extend
from lamina_softcap import devices, soft_cap

lnp = lm.numpy
WEIGHTS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def counted(call: Any) -> tuple[Any, dict[str, int]]:
    before = devices.SIMULATED.counts.copy()
    result = call()
    found = devices.SIMULATED.counts - before
    return result, {k: found[k] for k in ("in", "out", "compiled", "launched") if found[k]}


def test_arrays_stay_on_the_device() -> None:
    @lm.jit
    def layer(params: dict[str, Any], x: Any) -> Any:
        return soft_cap(x @ params["w"] + params["b"], 2.0), x.sum()

    on_device = lm.jit(layer.__wrapped__, device="simulated")
    params = {"w": WEIGHTS, "b": np.float32([0, 1, 2, 3])}
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    kept, counts = counted(lambda: lm.device_put(params, "simulated"))
    assert counts == {"in": 2}
    (y, total), counts = counted(lambda: on_device(kept, x))
    assert counts == {"in": 1, "compiled": 1, "launched": 1}
    assert (y.shape, y.dtype, y.device, repr(total)) == ((2, 4), np.float32, "simulated", "<float32[] on simulated>")
    wanted = layer(params, x)
    (found, counts) = counted(lambda: lm.device_get((y, total)))
    assert counts == {"out": 2}
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    again, counts = counted(lambda: on_device(kept, lm.device_put(x, "simulated")))
    assert counts == {"in": 1, "launched": 1}
    np.testing.assert_array_equal(again[0], found[0])


def test_training_on_the_device() -> None:
    def step(w: Any, x: Any, y: Any) -> Any:
        value, slope = lm.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - 0.1 * slope, value

    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(8, 3)), np.zeros(3)
    y = x @ [1.0, -2.0, 0.5]
    there, here = lm.jit(step, device="simulated"), lm.jit(step)
    a, b = lm.device_put((w, x), "simulated")[0], w
    for _ in range(5):
        (a, loss), (b, wanted) = there(a, x, y), here(b, x, y)
        np.testing.assert_allclose(loss, wanted, rtol=1e-12)
    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_control_flow_closures_and_statics() -> None:
    def collatz(n: Any, scale: float = 1.0) -> Any:
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps * scale + WEIGHTS[2, 3]

    there = lm.jit(collatz, device="simulated", static_argnames="scale")
    assert float(np.asarray(there(27, scale=2.0))) == 223.0
    assert float(np.asarray(there(np.int64(6), scale=1.0))) == 9.0


@pytest.mark.parametrize("shape", [(), (0,), (1, 0, 3), (5,)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "complex64", "float16"])
def test_any_array_goes_there_and_back(shape: tuple[int, ...], dtype: str) -> None:
    x = np.ones(shape, dtype)
    y = lm.device_put(x, "simulated")
    for found in (np.asarray(y), np.asarray(lm.jit(lambda x: lnp.where(x == 1, x, x), device="simulated")(y))):
        assert (found.shape, found.dtype) == (x.shape, x.dtype)
        np.testing.assert_array_equal(found, x)


def test_strides_views_and_memory() -> None:
    x = np.arange(12.0).reshape(3, 4)[::2, ::-1]
    y = lm.device_put(x, "simulated")
    x[:] = 0
    assert np.asarray(y)[0, 0] == 3
    with pytest.raises(ValueError, match="cannot be read without a copy"):
        np.asarray(y, copy=False)
    before = len(devices.SIMULATED.memory)
    del y
    gc.collect()
    assert len(devices.SIMULATED.memory) == before - 1


def test_inside_of_another_program_it_is_a_part_of_it() -> None:
    there = lm.jit(lambda x: x * 2, device="simulated")
    assert lm.jit(lambda x: there(x) + 1)(np.float32(3)) == 7
    assert lm.grad(lambda x: there(x) * x)(3.0) == 12


def test_what_is_refused() -> None:
    y = lm.device_put(np.ones(2), "simulated")
    with pytest.raises(lm.DeviceError, match="there is no device 'gpu', there are: cpu, simulated"):
        lm.jit(lambda x: x, device="gpu")
    with pytest.raises(lm.DeviceError, match="takes no donate_argnums= and no dynamic="):
        lm.jit(lambda x: x, device="simulated", donate_argnums=0)
    with pytest.raises(lm.DeviceError, match="is an effect, which a program on device 'simulated' cannot have"):
        lm.jit(lambda x: lm.debug.print("{}", x), device="simulated")(y)
    with pytest.raises(lm.DeviceError, match="inside of a traced function"):
        lm.jit(lambda x: lm.device_put(x, "simulated"))(np.ones(2))
    for name, device, text in (
        ("cpu", devices.Simulated(), "is no name"),
        ("sim2", object(), "must be an lm.Device, got object"),
    ):
        with pytest.raises(lm.ExtensionError, match=text):
            extend.register_device(name, device)  # pyright: ignore[reportArgumentType]
