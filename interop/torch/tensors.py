"""Tensors of torch as arrays and back, both of one memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from ...api.dtypes import ELEMENT_TYPES
from .errors import TorchError, UnsupportedOp

_STORED = {row.dtype.name: row.dtype for row in ELEMENT_TYPES}


@cache
def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The element type of NumPy for one of torch.

    Raises:
        UnsupportedOp: arrays of the program cannot have it.
    """
    name = str(dtype).removeprefix("torch.")
    found = _STORED.get(name)
    if found is None:
        raise UnsupportedOp(f"tensors of {name} are not supported")
    return found


@cache
def torch_dtype(dtype: Any) -> Any:
    """The element type of torch for one of NumPy.

    Raises:
        TorchError: torch has none.
    """
    import torch

    found = getattr(torch, np.dtype(dtype).name, None)
    if not isinstance(found, torch.dtype):
        raise TorchError(f"torch has no tensors of {np.dtype(dtype).name}")
    return found


def is_tensor(x: Any) -> bool:
    """Whether a value is a tensor of torch; torch is not loaded to find out."""
    return (type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "data_ptr")) or _is_subclass(x)


def _is_subclass(x: Any) -> bool:
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in type(x).__mro__)


def as_numpy(tensor: Any) -> np.ndarray:
    """A tensor as an array of the same memory.

    Raises:
        TorchError: it is not in the memory of the CPU, sparse, quantized, or of a type that arrays do not have.
    """
    import torch

    if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_quantized:
        raise TorchError(f"tensors are dense ones of the CPU here, got one of {tensor.layout} on {tensor.device}")
    tensor = tensor.detach().resolve_conj().resolve_neg()
    dtype = numpy_dtype(tensor.dtype)
    if hasattr(ml_dtypes, dtype.name):  # NumPy does not know these: their bits go through an integer
        bits = {1: torch.uint8, 2: torch.int16}[dtype.itemsize]
        return tensor.view(bits).numpy().view(dtype)
    return tensor.numpy()


def as_tensor(array: Any) -> Any:
    """An array as a tensor of the same memory.

    Raises:
        TorchError: torch has no such element type.
    """
    import torch

    dtype = torch_dtype(array.dtype)
    array = np.asarray(array)
    if any(n < 0 for n in array.strides) or array.dtype.byteorder not in "=|<":
        array = np.ascontiguousarray(array)  # torch has no negative strides
    if hasattr(ml_dtypes, array.dtype.name):
        bits = {1: np.uint8, 2: np.int16}[array.dtype.itemsize]
        return torch.from_numpy(array.view(bits)).view(dtype)
    return torch.from_numpy(array)
