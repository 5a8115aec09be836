"""Strided vectors: whole registers from and to memory, and shuffles of them."""

from __future__ import annotations

from collections.abc import Sequence

from ...codegen.text import Builder, Ty
from .emit_masks import masked_load


def every_other(b: Builder, address: str, mask: str | None, ty: Ty, align: int) -> str:
    """Every other element from an address on; under a mask only elements whose lane is on are read, others are zero.

    They are selected from two vectors, of which the second one begins with the last element of the first: so no element after
    the last selected one is read.
    """
    lanes, half = ty.lanes, ty.lanes // 2
    addresses = address, b.gep(address, str(lanes - 1), ty.scalar, "")
    if mask is None:
        x, y = (b.load(at, ty, align) for at in addresses)
    else:
        wanted = (
            [k // 2 if k % 2 == 0 else lanes for k in range(lanes)],
            [half + k // 2 if k % 2 else lanes for k in range(lanes)],
        )
        masks = (shuffle(b, mask, "zeroinitializer", each, ty.bool) for each in wanted)
        x, y = (masked_load(b, at, on, ty, align) for at, on in zip(addresses, masks, strict=True))
    return shuffle(b, x, y, [2 * k + (k >= half) for k in range(lanes)], ty)


def few_apart(b: Builder, address: str, stride: int, ty: Ty, lanes: int) -> str:
    """Elements at distance `stride`, from an address on: those of each register, of `lanes`, from `stride` adjacent registers.

    The last of these ends with the last selected element, so that no element after it is read.
    """
    part, parts = Ty(ty.elem, lanes), []
    begins = [*(k * lanes for k in range(stride - 1)), (lanes - 1) * (stride - 1)]
    for first in range(0, ty.lanes, lanes):
        found = "poison"
        for begin in begins:
            x = b.load(b.gep(address, str(first * stride + begin), ty.scalar, ""), part, ty.bits // 8)
            places = [k * stride - begin for k in range(lanes)]
            found = shuffle(b, found, x, [lanes + at if 0 <= at < lanes else k for k, at in enumerate(places)], part)
        parts.append(found)
    return b.joined(parts, part)


def store_in_turns(b: Builder, values: Sequence[str], address: str, ty: Ty, lanes: int) -> None:
    """Vectors, interleaved element by element, to adjacent whole registers of `lanes`."""
    count, part = len(values), Ty(ty.elem, lanes)
    for first in range(0, ty.lanes, lanes):
        pieces = [b.slice(x, first, lanes, ty) for x in values]
        for register in range(count):
            turns = [divmod(register * lanes + k, count) for k in range(lanes)]
            order = [lane + (turn == 1) * lanes for lane, turn in turns]
            found = shuffle(b, pieces[0], pieces[1], order, part)
            for n, piece in enumerate(pieces[2:], 2):
                found = shuffle(
                    b, found, piece, [lanes + lane if turn == n else k for k, (lane, turn) in enumerate(turns)], part
                )
            b.store(found, b.gep(address, str(first * count + register * lanes), ty.scalar, ""), part, ty.bits // 8)


def reverse(b: Builder, x: str, ty: Ty) -> str:
    """A vector in reverse order."""
    lanes = ", ".join([f"i32 {k}" for k in reversed(range(ty.lanes))])
    return b.emit(f"shufflevector {ty} {x}, {ty} poison, <{ty.lanes} x i32> <{lanes}>")


def shuffle(b: Builder, x: str, y: str, lanes: Sequence[int], ty: Ty) -> str:
    """The lanes of two vectors, those of the first one before those of the second."""
    mask = ", ".join([f"i32 {lane}" for lane in lanes])
    return b.emit(f"shufflevector {ty} {x}, {ty} {y}, <{ty.lanes} x i32> <{mask}>")
