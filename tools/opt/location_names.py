"""Names for locations in printed text, numbered as upstream's: `#loc1`, defined before or behind the op that is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FusedLoc, LocationAttr, NameLoc
from xdsl.ir import Attribute, Operation


class LocationNames:
    """The names of all locations of an op and the ops in it.

    Attributes:
        names: by location, in the order of their numbers.
        early: those of block arguments, and their components: upstream defines them before the op, the others behind it.
    """

    def __init__(self, op: Operation) -> None:
        self.names: dict[Attribute, str] = {}
        self.early: set[Attribute] = set()
        self._op(op)

    def _op(self, op: Operation) -> None:
        self._number(op.location, False)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    self._number(argument.location, True)
                for inner in block.ops:
                    self._op(inner)

    def _number(self, location: Attribute, early: bool) -> None:
        if location in self.names and (not early or location in self.early):
            return
        for part in _parts(location):
            self._number(part, early)
        if early:
            self.early.add(location)
        if location not in self.names:
            self.names[location] = f"#loc{len(self.names) or ''}"

    def definitions(self, early: bool, text_of: Callable[[Attribute], str]) -> str:
        """Lines that define those before the op, or behind it; `text_of` spells one with the names of its parts."""
        return "".join(
            f"{name} = {text_of(location)}\n" for location, name in self.names.items() if (location in self.early) == early
        )


def _parts(location: Attribute) -> Iterator[Attribute]:
    if isinstance(location, FusedLoc):
        if isinstance(location.locations, ArrayAttr):
            yield from location.locations.data
    elif isinstance(location, CallSiteLoc):
        yield from (location.callee, location.caller)
    elif isinstance(location, NameLoc) and isinstance(location.location, LocationAttr):
        yield location.location
