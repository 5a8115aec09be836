"""Devices of other packages, with memory and programs of their own.

A device keeps arrays as buffers that only it reads, and compiles its programs from a module of the graph dialect.
`jit(f, device=)` traces `f` as for the CPU and hands the whole program over; arrays that are on the device are not copied.
"""

from __future__ import annotations

import functools
import re
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ... import extensions, pipeline
from ...dialects.graph.effects import EffectOp
from ...errors import DeviceError, ExtensionError
from ..trace.program import TensorSpec
from ..trace.pytree import flatten
from ..trace.pytree import map as tree_map
from ..trace.tracer import Tracer
from .lowered import Lowered, finisher

Buffer = Any
"""An array in the memory of a device: the result of its `put` or of its programs."""


class Device(ABC):
    """A device: the interface that another package implements.

    Attributes:
        phase: the level at which it takes programs: "graph" as traced, or "optimized", simplified and with its composites.
    """

    phase = "optimized"

    @abstractmethod
    def put(self, array: np.ndarray[Any, Any]) -> Buffer:
        """Copy a C-contiguous array into the memory of the device."""

    @abstractmethod
    def get(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """Copy a buffer into a new array."""

    @abstractmethod
    def free(self, buffer: Buffer) -> None:
        """Let go of a buffer, which no array stands for any more."""

    @abstractmethod
    def compile(self, module: ModuleOp, entry: str) -> Callable[[Sequence[Buffer]], Sequence[Buffer]]:
        """A runner of the function `entry` of a module, which has no effects and static sizes. It gets the buffers of
        the arguments, which stay as they are, and returns those of the results.

        Raises:
            LaminaError: the device cannot run an op, with the op (`error.op`).
        """


_devices: dict[str, Device] = {}


def register_device(name: str, device: Device) -> Device:
    """Make a device known by a name, for `jit(device=)` and `device_put`.

    Args:
        name: letters, digits, `.`, `_` and `-`; "cpu" is reserved.
        device: an instance of a class that derives from `Device`.

    Raises:
        ExtensionError: no name, one of another package, or not a `Device`.
    """
    if not re.fullmatch(r"[A-Za-z][\w.-]*", name) or name == "cpu":
        raise ExtensionError(f"register_device: '{name}' is no name for a device")
    if not isinstance(device, Device):
        raise ExtensionError(f"register_device: '{name}' must be an lm.Device, got {type(device).__name__}")
    extensions.add("device", name, type(device).__module__)
    _devices[name] = device
    return device


def find_device(name: Any) -> Device | None:
    """A device by its name; None is the CPU.

    Raises:
        DeviceError: there is no such device.
    """
    if name in (None, "cpu"):
        return None
    extensions.load()
    if name not in _devices:
        raise DeviceError(f"there is no device {name!r:.60}, there are: {', '.join(['cpu', *_devices])}")
    return _devices[name]


@dataclass(frozen=True, eq=False)
class DeviceArray:
    """An array in the memory of a device. `np.asarray(x)` copies it out; nothing else reads its elements.

    Attributes:
        shape, dtype: as of a NumPy array.
        device: the name of the device.
        buffer: the device's object for it.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: str
    buffer: Buffer

    def __post_init__(self) -> None:
        device = find_device(self.device)
        assert device is not None
        weakref.finalize(self, device.free, self.buffer)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError(f"an array on device '{self.device}' cannot be read without a copy")
        device = find_device(self.device)
        assert device is not None
        found = np.asarray(device.get(self.buffer))
        return found if dtype is None else found.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<{self.dtype}{list(self.shape)} on {self.device}>"


def put(tree: Any, name: str) -> Any:
    """The arrays and numbers of a tree in the memory of a device; those that are there already stay."""
    return tree_map(lambda leaf: _put(leaf, name, None), tree)


def _put(leaf: Any, name: str, dtype: Any) -> DeviceArray:
    if isinstance(leaf, DeviceArray) and leaf.device == name:
        return leaf
    if isinstance(leaf, Tracer):
        raise DeviceError(f"device_put to '{name}' inside of a traced function: a program runs on one device, jit(device=)")
    array = np.ascontiguousarray(np.asarray(leaf, dtype)).reshape(np.shape(leaf))
    device = find_device(name)
    assert device is not None
    return DeviceArray(array.shape, array.dtype, name, device.put(array))


class DeviceFunction:
    """A function that runs on a device; `jit(device=)` makes it. Results are `DeviceArray`s."""

    def __init__(self, jitted: Any, name: str):
        self.jitted, self.device = jitted, name
        self._programs: dict[Any, Callable[[Sequence[DeviceArray]], Any]] = {}
        functools.update_wrapper(self, jitted)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """As of `jit`: the program at any phase. Arrays on the device stand for others of their shape and dtype."""
        args, kwargs = tree_map(_described, (args, kwargs))
        return self.jitted.lower(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        dispatcher = self.jitted._dispatcher
        moving, keywords, statics = dispatcher.split(args, kwargs)
        leaves, structure = flatten((moving, keywords))
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            return self.jitted(*args, **kwargs)  # a part of the program around it
        avals = tuple(dispatcher.abstract([_described(leaf) for leaf in leaves], structure))
        key = structure, statics, avals
        if key not in self._programs:
            self._programs[key] = self._compiled(dispatcher.lower(structure, statics, avals))
        return self._programs[key]([_put(x, self.device, a.dtype) for x, a in zip(leaves, avals, strict=True)])

    def _compiled(self, lowered: Lowered) -> Callable[[Sequence[DeviceArray]], Any]:
        """From the arguments on the device to the result."""
        device, name, module = find_device(self.device), self.device, lowered.module
        assert device is not None
        effect = next((op for op in module.walk() if isinstance(op, EffectOp) and op.is_effect), None)
        if effect is not None:
            error = DeviceError(f"'{effect.name}' op is an effect, which a program on device '{name}' cannot have")
            error.op = effect
            raise error
        if device.phase != "graph":
            pipeline.run_to(module, device.phase)
        run, finish = device.compile(module, "main"), finisher(lowered.traced)
        captured = [_put(x, name, None) for x in lowered.traced.captured]
        avals = [(tuple(a.shape), a.dtype) for a in lowered.out_avals]

        def call(arrays: Sequence[DeviceArray]) -> Any:
            found = run([x.buffer for x in (*arrays, *captured)])
            results = [DeviceArray(*aval, name, buffer) for aval, buffer in zip(avals, found, strict=True)]
            return finish(results[0] if len(results) == 1 else results)

        return call


def _described(leaf: Any) -> Any:
    return TensorSpec(leaf.shape, leaf.dtype) if isinstance(leaf, DeviceArray) else leaf
