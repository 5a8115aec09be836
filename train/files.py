"""`save` and `load`: trees of arrays in files of safetensors' format."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from ..api import trees
from .modules.module import leaf_names

_DTYPES = {
    "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16, "U32": np.uint32, "I32": np.int32,
    "U64": np.uint64, "I64": np.int64, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64,
    "C64": np.complex64, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip
"""The format's names of the supported dtypes."""
_STORED = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}


class FileError(ValueError):
    """A file is not of safetensors' format, or holds other arrays than expected."""


def _safetensors() -> Any:
    try:
        import safetensors
    except ImportError:
        raise ImportError("lm.save and lm.load need the package safetensors: pip install 'lamina[models]'") from None
    return safetensors


def _named(tree: Any) -> dict[str, Any]:
    """The leaves of a tree by name; a single array is `value`."""
    found: dict[str, Any] = {}
    for name, leaf in zip(leaf_names(tree), trees.leaves(tree), strict=True):
        name = name or "value"
        if name == "__metadata__":
            raise ValueError("no array can have the name '__metadata__', which is the format's own: rename a key")
        if name in found:
            raise ValueError(f"two arrays have the name {name!r}: rename a key")
        found[name] = leaf
    return found


def save(path: str | os.PathLike[str], tree: Any, metadata: Mapping[str, str] | None = None) -> None:
    """Write a tree of arrays to a file, all of it or nothing: a file of the name is replaced when the new one is complete.

    Names in the file are those of `Module.state_dict`, or the keys on the way to an array, joined by dots.

    Args:
        path: of the file, by custom `*.safetensors`.
        tree: arrays and numbers in modules, dicts, lists, tuples and the like; static fields are not kept.
        metadata: texts by name, which `load_metadata` reads.

    Raises:
        TypeError: a leaf is no array, or of a dtype that the format has not, as complex128.
        ValueError: two leaves have one name, or one has the name `__metadata__`.

    >>> import lamina as lm, numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lm.save(f"{folder}/a.safetensors", {"w": np.ones(2), "parts": [np.int8(3)]}, {"by": "me"})
    ...     lm.load(f"{folder}/a.safetensors")
    {'parts.0': array(3, dtype=int8), 'w': array([1., 1.])}
    """
    library = _safetensors()
    specs: dict[str, Any] = {}
    arrays: list[np.ndarray[Any, Any]] = []  # their memory is read below
    for name, leaf in _named(tree).items():
        if isinstance(leaf, np.ma.MaskedArray):
            raise TypeError(f"{os.fspath(path)}: {name} is a masked array: fill it with .filled() first")
        array = np.asarray(leaf)
        array = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        if array.dtype not in _STORED:
            raise TypeError(f"{os.fspath(path)}: {name} is {array.dtype}, which safetensors cannot store")
        arrays.append(array)
        spec = {"dtype": array.dtype.name, "shape": array.shape, "data_ptr": array.ctypes.data, "data_len": array.nbytes}
        specs[name] = library.TensorSpec(**spec)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    os.close(handle)
    try:
        library.serialize_file(specs, temporary, metadata=None if metadata is None else dict(metadata))
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load(path: str | os.PathLike[str], like: Any = None) -> Any:
    """Read the arrays of a file that `save` or another library wrote in safetensors' format.

    Args:
        path: of the file.
        like: a tree with the structure, shapes and dtypes that are expected; for other dtypes see `Module.load_state_dict`.

    Returns:
        The tree of `like` with the file's arrays; without it, a dict of arrays by name.

    Raises:
        OSError: the file cannot be read.
        FileError: it is damaged, or differs from `like`; all differences are listed.
    """
    library = _safetensors()
    content = Path(path).read_bytes()
    try:
        entries = library.deserialize(content)
    except library.SafetensorError as error:
        raise FileError(f"{os.fspath(path)} is not a valid safetensors file: {error}") from None
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name, entry in sorted(entries):
        if entry["dtype"] not in _DTYPES:
            raise FileError(f"{os.fspath(path)}: {name} has the dtype {entry['dtype']}, which is not supported")
        found[name] = np.frombuffer(entry["data"], _DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return found if like is None else _placed(os.fspath(path), found, like)


def _placed(path: str, found: Mapping[str, Any], like: Any) -> Any:
    """The tree of `like` with arrays by name."""
    expected = _named(like)
    wrong = [f"{name} is missing" for name in expected if name not in found]
    wrong += [f"{name} is unknown" for name in found if name not in expected]
    for name, leaf in expected.items():
        here = np.dtype(leaf.dtype) if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
        if name in found and (found[name].shape != np.shape(leaf) or found[name].dtype != here):
            there = found[name]
            wrong.append(f"{name} is {here}{list(np.shape(leaf))} here and {there.dtype}{list(there.shape)} in the file")
    if wrong:
        raise FileError(f"{path} does not hold what is expected: " + "; ".join(wrong))
    return trees.structure(like).unflatten(found[name] for name in expected)


def load_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The texts that `save` was given for a file.

    Raises:
        OSError: the file cannot be read.
        FileError: it is damaged.
    """
    library = _safetensors()
    try:
        with library.safe_open(os.fspath(path), framework="np") as file:
            return dict(file.metadata() or {})
    except library.SafetensorError as error:
        raise FileError(f"{os.fspath(path)} is not a valid safetensors file: {error}") from None
