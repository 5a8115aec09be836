"""The helpers of rewritten code by their names: `runtime.py` registers them, rewritten functions hold the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class HelperTable:
    """What rewritten code calls, as attributes: some helpers rewrite functions themselves, which then call all helpers."""

    def register(self, helpers: Mapping[str, Callable[..., Any]]) -> None:
        """Add helpers."""
        vars(self).update(helpers)


TABLE = HelperTable()
