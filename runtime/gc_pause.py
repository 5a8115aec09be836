"""When garbage is collected: between compilations, not during them, and not immediately after each."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MOST_LEFT = 1 << 19
"""Objects that compilations may leave, garbage or not, before all garbage is collected."""

_left = 0
_has_frozen = False
"""Whether objects of this process were found frozen, once and for all: to look counts them."""


@contextmanager
def collecting_later(all_stays: bool = False) -> Iterator[None]:
    """Pause the collection of garbage, and keep the objects made meanwhile out of the young generations afterwards.

    A collection during a compilation takes 50 ms with the usual packages imported, and would free a megabyte. One after it
    would look through all that was made, modules that were imported included: 50 ms for a small program, 150 ms for a large
    one. So that is done once for many compilations. A process that has frozen objects itself, or collects none, is left as it
    is.

    Args:
        all_stays: whether hardly any of the new objects become garbage, as in an import.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        _leave_to_full_collection(0 if all_stays else gc.get_count()[0])
        gc.enable()  # last: objects made once it is enabled may trigger a collection


def _leave_to_full_collection(made: int) -> None:
    """Move young objects into the oldest generation: freezing and unfreezing moves lists, whatever their length."""
    global _left, _has_frozen
    _left += made
    _has_frozen = _has_frozen or gc.get_freeze_count() > 0
    if _left > MOST_LEFT:
        _left = 0
        gc.collect()
    elif not _has_frozen:
        gc.freeze()
        gc.unfreeze()
