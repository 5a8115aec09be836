"""The properties of a `graph.conv`, and how its windows slide along one dim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute

from ..sizes.polynomial import least, positive
from ..types import f32
from .base import Props, integer, ints

NONE = DenseArrayBase.from_list(i64, [])


# --------------------------------------------------------------------------------------------------------------------
# Windows along one dim


def dilated(size: int, by: int) -> int:
    """The extent of `size` elements with `by - 1` holes between neighbours."""
    return size if by == 1 else positive(size - 1) * by + least(size, 1)


def windows(size: int, window: int, stride: int, dilation: int = 1) -> int:
    """How many windows fit."""
    return positive((size - dilated(window, dilation)) // stride + 1)


# --------------------------------------------------------------------------------------------------------------------
# Properties


@dataclass(frozen=True)
class Convolution:
    """The properties of a `graph.conv` in full: one entry a spatial dim, and the dims of each tensor by their role.

    Attributes:
        x_dims: which dims of `x` are (batch, features, spatial ...); so `y_dims` of the result.
        w_dims: which dims of `w` are (result features, features of a group, spatial ...).
        tile: how many results along each spatial dim Winograd's algorithm computes at once; (): the compiler chooses.
    """

    stride: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    base_dilation: tuple[int, ...]
    dilation: tuple[int, ...]
    x_dims: tuple[int, ...]
    w_dims: tuple[int, ...]
    y_dims: tuple[int, ...]
    groups: int
    tile: tuple[int, ...] = ()

    @staticmethod
    def of(props: Props) -> Convolution:
        """Properties with their defaults filled in: dilations of 1, dims in the order of their roles."""
        stride, low, high = (ints(props[name]) for name in ("stride", "low", "high"))
        ones = (1,) * len(stride)
        in_order = tuple(range(len(stride) + 2))
        base_dilation, dilation = (ints(props.get(name, NONE)) or ones for name in ("base_dilation", "dilation"))
        x_dims, w_dims, y_dims = (ints(props.get(name, NONE)) or in_order for name in ("x_dims", "w_dims", "y_dims"))
        groups = integer(props["groups"])
        tile = ints(props.get("tile", NONE))
        return Convolution(stride, low, high, base_dilation, dilation, x_dims, w_dims, y_dims, groups, tile)

    def properties(self) -> dict[str, Any]:
        """The arguments for `GraphBuilder`; defaults are left out, so that equal convolutions have equal properties."""
        in_order = tuple(range(len(self.stride) + 2))
        ones = (1,) * len(self.stride)
        return {
            **{name: getattr(self, name) for name in ("stride", "low", "high")},
            **{name: () if getattr(self, name) == ones else getattr(self, name) for name in ("base_dilation", "dilation")},
            **{name: () if getattr(self, name) == in_order else getattr(self, name) for name in ("x_dims", "w_dims", "y_dims")},
            "groups": self.groups,
            "tile": self.tile,
        }

    @property
    def direct(self) -> tuple[int, ...]:
        """The tile for other convolutions of the same data: the direct form, where it was requested."""
        return self.tile if set(self.tile) == {1} else ()

    def has_tiles(self, element: Attribute, window: Sequence[int]) -> bool:
        """Whether Winograd's algorithm is implemented for filters of this size."""
        ones = (1, 1)
        plain = self.stride == self.dilation == self.base_dilation == ones and self.groups == 1
        return plain and element == f32 and tuple(window) == (3, 3)

    def padded(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Spatial sizes of `x` with holes and padding."""
        rows = zip(sizes, self.base_dilation, self.low, self.high, strict=True)
        return tuple(dilated(n, by) + low + high for n, by, low, high in rows)

    def result(self, sizes: Sequence[int], window: Sequence[int]) -> tuple[int, ...]:
        """Spatial sizes of the result."""
        rows = zip(self.padded(sizes), window, self.stride, self.dilation, strict=True)
        return tuple(windows(*row) for row in rows)


def pick(shape: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    """The sizes of some dims, in their order."""
    return tuple(shape[d] for d in dims)


def placed(values: Sequence[Any], dims: Sequence[int]) -> list[Any]:
    """The values, `values[k]` at position `dims[k]`."""
    found: list[Any] = [None] * len(dims)
    for value, d in zip(values, dims, strict=True):
        found[d] = value
    return found
