"""Files of safetensors: what is read is what was written, damaged files are refused, nothing is half written."""

from __future__ import annotations

import doctest
import importlib
import json
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("safetensors", reason="safetensors is not installed (extra lamina[models])")

DTYPES = [
    *(np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32),
    *(np.float64, np.complex64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    *(ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz),
]


def test_all_dtypes(tmp_path: Path) -> None:
    path = tmp_path / "a" / "x.safetensors"
    rng = np.random.default_rng(0)
    arrays = {np.dtype(d).name: rng.integers(0, 2, (2, 3)).astype(d) for d in DTYPES}
    arrays |= {"scalar": np.float32(np.nan), "empty": np.zeros((0, 3)), "strided": np.arange(12.0).reshape(3, 4).T[::2]}
    arrays |= {"big": np.arange(3, dtype=">i4"), "ours": lm.jit(lambda x: x + 1)(np.ones(3, np.float32))}
    lm.save(path, arrays, {"made by": "ünïts"})
    found = lm.load(path)
    assert set(found) == set(arrays) and lm.train.load_metadata(path) == {"made by": "ünïts"}
    for name, array in arrays.items():
        assert found[name].dtype == np.asarray(array).dtype.newbyteorder("="), name
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    found["ours"] += 1  # it is ours to write to
    assert list(path.parent.iterdir()) == [path]
    assert lm.train.load_metadata(Path(path)) and path.stat().st_mode & 0o400


def test_trees_and_modules(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    keys = lm.random.split(lm.random.key(0), 2)
    layers = [lm.train.modules.Linear(3, 4, key=keys[0]), lm.train.modules.BatchNorm(4)]
    model = lm.train.modules.Sequential(*layers, lm.train.modules.LSTM(4, 2, key=keys[1]))
    optimizer = lm.train.optim.adam(0.1)
    tree = {"model": model, "state": optimizer.init(model), "step": 3, "parts": [np.ones(2), {"k": None}], 5: np.zeros(1)}
    tree = {str(name): value for name, value in tree.items()}
    lm.save(path, tree)
    found = lm.load(path)
    assert {
        "model.0.weight",
        "model.1.running_mean",
        "model.2.weight_ih_l0",
        "state.0.mu.0.weight",
        "step",
        "parts.0",
        "5",
    } <= set(found)
    back = lm.load(path, lm.tree.map(np.zeros_like, tree))
    assert lm.tree.structure(back) == lm.tree.structure(tree)
    for ours, expected in zip(lm.tree.leaves(back), lm.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(ours, expected)
    lm.save(path, model.state_dict())
    np.testing.assert_array_equal(model.load_state_dict(lm.load(path))[0].weight, model[0].weight)
    lm.save(path, np.arange(3))
    np.testing.assert_array_equal(lm.load(path, np.zeros(3, np.int64)), np.arange(3))
    with pytest.raises(lm.train.FileError) as error:
        lm.load(path, {"value": np.zeros(3, np.int32), "other": np.ones(1)})
    assert "other is missing; value is int32[3] here and int64[3] in the file" in str(error.value)
    with pytest.raises(ValueError, match=r"two arrays have the name 'a\.b'"):
        lm.save(path, {"a": {"b": np.ones(1)}, "a.b": np.ones(1)})


def test_other_libraries_read_them(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    arrays = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.int64(4)}
    lm.save(tmp_path / "ours", arrays)
    np.testing.assert_array_equal(library.load_file(tmp_path / "ours")["w"], arrays["w"])
    library.save_file({"w": arrays["w"]}, tmp_path / "theirs")
    np.testing.assert_array_equal(lm.load(tmp_path / "theirs")["w"], arrays["w"])


def test_what_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    lm.save(path, {"w": np.ones(2)})
    before = path.read_bytes()
    for value, message in [
        (np.ones(2, np.complex128), "w is complex128, which safetensors cannot store"),
        (np.array(["text"]), "w is <U4"),
        (lnp.asarray([1], lnp.int4), "w is int4"),
        (np.ma.masked_array([1, 2], [0, 1]), "w is a masked array"),
    ]:
        with pytest.raises(TypeError, match=message):
            lm.save(path, {"a": np.ones(1), "w": value})
    with pytest.raises(ValueError, match="the format's own"):
        lm.save(path, {"__metadata__": np.ones(1)})
    with pytest.raises(TypeError):  # metadata are texts
        lm.save(path, {"w": np.ones(3)}, {"a": 1})  # pyright: ignore[reportArgumentType]
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="missing"):
        lm.load(tmp_path / "missing")


def file(header: Any, data: bytes = b"\0" * 8, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(shape: list[int], offsets: list[int], dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


LIES = {
    "nothing": b"",
    "no header": b"\1\0\0",
    "a header beyond the file": file(b"{}", b"", 100),
    "a header of all memory": file(b"{}", b"", 2**63),
    "no JSON": file(b"{x"),
    "a list": file([]),
    "data that nobody names": file({}, b"12345678"),
    "data cut off": file({"x": entry([2], [0, 8])}, b"1234"),
    "overlapping": file({"x": entry([1], [0, 4]), "y": entry([1], [2, 6])}, b"123456"),
    "a hole": file({"x": entry([1], [4, 8])}),
    "out of range": file({"x": entry([2], [4, 12])}),
    "end before start": file({"x": entry([1], [4, 0])}),
    "another size": file({"x": entry([3], [0, 8])}),
    "an overflow": file({"x": entry([2**62, 2**62], [0, 8])}),
    "a negative size": file({"x": entry([-2], [0, 8])}),
    "no dtype": file({"x": entry([2], [0, 8], "F33")}),
    "a dtype of others": file({"x": entry([16], [0, 8], "F4")}),
    "no offsets": file({"x": {"dtype": "F32", "shape": [2]}}),
}


@pytest.mark.parametrize("what", LIES)
def test_files_that_lie(what: str, tmp_path: Path) -> None:
    path = tmp_path / "lie.safetensors"
    path.write_bytes(LIES[what])
    with pytest.raises(lm.train.FileError, match=r"lie\.safetensors"):
        lm.load(path)
    assert file({"x": entry([2], [0, 8])}) != LIES[what]


def test_examples() -> None:
    for name in ("files", "checkpoints"):
        result = doctest.testmod(importlib.import_module(f"lamina.train.{name}"))
        assert result.failed == 0 and result.attempted > 0
