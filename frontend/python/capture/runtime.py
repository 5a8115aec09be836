"""The helpers that rewritten code calls. Each does the same as Python where the values are known, and records ops otherwise."""

from __future__ import annotations

import builtins
import sys

from .branches import and_, compare, going, if_, known, not_, or_, ternary
from .convert import attribute, convert, run
from .helper_table import TABLE
from .iteration import steps
from .loops import for_, while_
from .messages import assert_, raised, text
from .reductions_of_iterables import fold
from .session import Scope as enter
from .writes import augment, bind, fresh, item, set_attribute, set_item, set_item_of

NameError = builtins.NameError
slice = builtins.slice

__all__ = [
    "NameError", "and_", "assert_", "attribute", "augment", "bind", "compare", "convert", "enter", "fold", "for_", "fresh",
    "going", "if_", "item", "known", "not_", "or_", "raised", "run", "set_attribute", "set_item", "set_item_of", "slice",
    "steps", "ternary", "text", "while_",
]  # fmt: skip

TABLE.register({name: getattr(sys.modules[__name__], name) for name in __all__})
