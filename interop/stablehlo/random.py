"""`rng_bit_generator`: streams of random bits, those of XLA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .faults import UnsupportedError


def rng_bit_generator(site: Any, operands: Sequence[Any]) -> Any:
    """The next state and bits."""
    raise UnsupportedError(f"has the algorithm {site.get('rng_algorithm')}, which is not known here")
