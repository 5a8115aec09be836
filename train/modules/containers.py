"""Sequences of layers, and layers without parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...library.nn import namespace as nn
from ...library.random import namespace as random
from .linear import Linear
from .module import Module, static

__all__ = ["MLP", "Dropout", "Flatten", "Lambda", "Sequential"]


class Lambda(Module):
    """A function as a layer: `Lambda(lm.nn.relu)`.

    Args:
        function: of one array. Two layers are equal, for `jit`, if they hold the same function object.
    """

    function: Callable[[Any], Any] = static()

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"Lambda takes a function of one array, got {type(self.function).__name__}: {self.function!r:.60}")

    def __call__(self, x: Any) -> Any:
        return self.function(x)


class Flatten(Module):
    """All dims after the first as one."""

    def __call__(self, x: Any) -> Any:
        return x.reshape((x.shape[0], -1))


class Dropout(Module):
    """In training, each element is 0 with probability `rate` and else divided by `1 - rate`; in inference nothing changes.

    Args:
        rate: from 0 to 1.
    """

    rate: float = static(0.5)

    takes_key = True

    def __call__(self, x: Any, key: Any = None) -> Any:
        """The same shape; `key` of `lamina.random` is needed in training.

        Raises:
            ValueError: in training there is no key.
        """
        if not self.training or self.rate == 0:
            return x
        if key is None:
            raise ValueError("Dropout in training needs a key: pass key=lm.random.key(...), or call model.eval() for inference")
        return nn.dropout(key, x, self.rate)


class Sequential(Module):
    """Layers, each applied to the result of the one before.

    Where one of them is stateful (a `BatchNorm`), a call returns the result and the module with their next states.

    Args:
        layers: modules, or functions of one array, which become `Lambda` layers.

    >>> import lamina as lm, numpy as np
    >>> from lamina.train import modules
    >>> keys = lm.random.split(lm.random.key(0))
    >>> model = modules.Sequential(modules.Linear(4, 8, key=keys[0]), lm.nn.relu, modules.Linear(8, 2, key=keys[1]))
    >>> model(np.ones((3, 4), np.float32)).shape
    (3, 2)
    """

    layers: tuple[Any, ...]

    def __init__(self, *layers: Any) -> None:
        self.layers = tuple(layer if isinstance(layer, Module) else Lambda(layer) for layer in layers)

    @property
    def stateful(self) -> bool:
        """Whether a call returns the module for the next one, too."""
        return any(getattr(layer, "stateful", False) for layer in self.layers)

    @property
    def takes_key(self) -> bool:
        """Whether a layer draws at random."""
        return any(getattr(layer, "takes_key", False) for layer in self.layers)

    def state_name(self, name: str) -> str:
        """torch names the layers by their numbers alone."""
        return name.removeprefix("layers.")

    def __call__(self, x: Any, key: Any = None) -> Any:
        """The result of the last layer; `key` is divided among the layers that draw at random."""
        after = []
        for k, layer in enumerate(self.layers):
            given = {"key": random.fold_in(key, k)} if key is not None and getattr(layer, "takes_key", False) else {}
            x = layer(x, **given)
            if getattr(layer, "stateful", False):
                x, layer = x
            after.append(layer)
        return (x, self.replace(layers=tuple(after))) if self.stateful else x

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, k: int) -> Any:
        return self.layers[k]


class MLP(Module):
    """Linear layers with an activation between them.

    Args:
        sizes: of the argument, of each hidden layer and of the result.
        activation: an elementwise function.
        key, dtype: as of `Linear`.

    >>> import lamina as lm, numpy as np
    >>> print(lm.train.modules.MLP((4, 8, 2), key=lm.random.key(0)))
    MLP(
      layers=(Linear(weight=float32[8, 4], bias=float32[8]), Linear(weight=float32[2, 8], bias=float32[2])),
      activation=relu,
    )  # 58 parameters
    """

    layers: tuple[Linear, ...]
    activation: Callable[[Any], Any] = static()

    def __init__(
        self, sizes: Sequence[int], activation: Callable[[Any], Any] = nn.relu, *, key: Any, dtype: Any = np.float32
    ) -> None:
        if len(sizes) < 2:
            raise ValueError(f"MLP needs the sizes of argument and result, got {list(sizes)}")
        keys = random.split(key, len(sizes) - 1)
        pairs = zip(sizes[:-1], sizes[1:], keys, strict=True)
        self.layers = tuple(Linear(n, m, key=key, dtype=dtype) for n, m, key in pairs)
        self.activation = activation

    def __call__(self, x: Any) -> Any:
        """From floats[..., sizes[0]], floats[..., sizes[-1]]."""
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)
