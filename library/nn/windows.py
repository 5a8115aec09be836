"""Windows that slide over the spatial dims of images, for `lamina.nn`: layouts, strides, padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...api import Tracer, array_function, lift
from ...api.errors import ShapeError
from ...api.sizes import dilated_size
from ..numpy.axes_and_shapes import static_int

Sizes = int | Sequence[int]
Padding = str | int | Sequence[int] | Sequence[Sequence[int]]

_SPATIAL = ("D", "H", "W")
_NAMES = ("depth", "height", "width")


def first_layout(rank: int) -> str:
    """The layout with features first: "NCW", "NCHW", "NCDHW"."""
    return f"NC{''.join(_SPATIAL[-rank:])}"


def for_ranks(function: Callable[[int], Callable[..., Any]]) -> tuple[Callable[..., Any], ...]:
    """The functions of sequences, images and volumes that `function(rank)` returns, which documents that of images."""
    return tuple(array_function(_named(function(rank), rank)) for rank in (1, 2, 3))


def _named(function: Callable[..., Any], rank: int) -> Callable[..., Any]:
    base = function.__name__
    function.__name__ = function.__qualname__ = f"{base}{rank}d"
    if rank != 2:
        of = f"{'sequences' if rank == 1 else 'volumes'} `[batch, features, {', '.join(_NAMES[-rank:])}]`"
        first = first_layout(rank)
        function.__doc__ = f'`{base}2d` of {of}; layouts are "{first}" and "N{first[2:]}C".'
    return function


@dataclass(frozen=True)
class Layout:
    """Where the dims of images and filters stand.

    Attributes:
        x_dims: of images, (batch, features, spatial ...).
        w_dims: of filters, (result features, features of a group, spatial ...).
    """

    x_dims: tuple[int, ...]
    w_dims: tuple[int, ...]

    @staticmethod
    def of(name: str | None, rank: int) -> Layout:
        """A layout of images with `rank` spatial dims: "NCHW", "NHWC" and so on; None has features first.

        Raises:
            ShapeError: there is no such layout.
        """
        first = first_layout(rank)
        last = f"N{first[2:]}C"
        in_order = tuple(range(rank + 2))
        if name is None or name == first:
            return Layout(in_order, in_order)
        if name == last:
            return Layout((0, rank + 1, *in_order[1:-1]), (rank + 1, rank, *in_order[:rank]))
        raise ShapeError(f"layout must be one of {first}, {last}, got {name!r}")

    @property
    def rank(self) -> int:
        """How many spatial dims there are."""
        return len(self.x_dims) - 2

    @property
    def spatial(self) -> tuple[int, ...]:
        """The spatial dims of images."""
        return self.x_dims[2:]

    def image(self, x: Any, what: str) -> Tracer:
        """A batch of images.

        Raises:
            ShapeError: the array has another number of dims.
        """
        x = lift(x)
        if x.ndim != self.rank + 2:
            raise ShapeError(f"{what} needs images of {self.rank + 2} dims (a batch of them), got shape {list(x.shape)}")
        return x

    def sizes(self, value: Any, what: str) -> tuple[int, ...]:
        """A number for each spatial dim, from one for all or one each.

        Raises:
            ShapeError: there are more or fewer numbers.
        """
        values = list(value) if isinstance(value, Sequence) else [value] * self.rank
        if len(values) != self.rank:
            wanted = "a number" if self.rank == 1 else f"a number or {self.rank} numbers"
            raise ShapeError(f"{what} must be {wanted}, got {value!r}")
        return tuple(static_int(v, what) for v in values)

    def positive(self, value: Any, what: str) -> tuple[int, ...]:
        """`sizes` of at least 1."""
        sizes = self.sizes(value, what)
        if min(sizes) < 1:
            raise ShapeError(f"{what} must be at least 1, got {value!r}")
        return sizes

    def padding(self, padding: Any, windows: Windows, sizes: Sequence[int]) -> list[tuple[int, int]]:
        """The zeros (before, after) each spatial dim of images with these sizes.

        Raises:
            ShapeError: the padding is unknown, negative, or has not one entry a spatial dim.
        """
        if isinstance(padding, str):
            if padding.upper() == "VALID":
                return [(0, 0)] * self.rank
            if padding.upper() != "SAME":
                raise ShapeError(f"padding must be 'SAME', 'VALID', numbers or pairs, got {padding!r}")
            return [windows.same(size, k) for k, size in enumerate(sizes)]
        values = list(padding) if isinstance(padding, Sequence) else [padding] * self.rank
        if len(values) != self.rank:
            raise ShapeError(f"padding needs one entry for each of {', '.join(_NAMES[-self.rank :])}, got {padding!r}")
        pairs = [_pair(v) for v in values]
        if min(n for pair in pairs for n in pair) < 0:
            raise ShapeError(f"padding must not be negative, got {padding!r}")
        return pairs

    def everywhere(self, values: Sequence[int], otherwise: int) -> list[int]:
        """A number for each dim of images, from those of the spatial ones."""
        row = [otherwise] * (self.rank + 2)
        for d, value in zip(self.spatial, values, strict=True):
            row[d] = value
        return row


def _pair(value: Any) -> tuple[int, int]:
    values = list(value) if isinstance(value, Sequence) else [value] * 2
    if len(values) != 2:
        raise ShapeError(f"padding of a dim must be a number or a pair of numbers, got {value!r}")
    return static_int(values[0], "padding"), static_int(values[1], "padding")


@dataclass(frozen=True)
class Windows:
    """How windows slide: sizes, strides and dilations, a number a spatial dim."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]

    def reach(self, k: int) -> int:
        """How many elements of a dim a window spans."""
        return dilated_size(self.size[k], self.dilation[k])

    def same(self, size: int, k: int) -> tuple[int, int]:
        """The padding of a dim with which there are `ceil(size / stride)` windows; an odd element goes at the end."""
        total = max(0, (-(-size // self.stride[k]) - 1) * self.stride[k] + self.reach(k) - size)
        return total // 2, total - total // 2
