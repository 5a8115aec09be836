# from the table names.toml by `make names`: do not edit
"""Structures of arrays: tuples, dicts, dataclasses and what is registered."""

from typing import Any

from ..frontend.trace.pytree import ClassT as ClassT
from ..frontend.trace.pytree import LEAF as LEAF
from ..frontend.trace.pytree import TreeDef as TreeDef
from ..frontend.trace.pytree import children_of as children_of
from ..frontend.trace.pytree import flatten as flatten
from ..frontend.trace.pytree import is_node_type as is_node_type
from ..frontend.trace.pytree import leaves as leaves
from ..frontend.trace.pytree import map as map
from ..frontend.trace.pytree import node_of as node_of
from ..frontend.trace.pytree import register_dataclass as register_dataclass
from ..frontend.trace.pytree import register_model as register_model
from ..frontend.trace.pytree import register_pytree_node as register_pytree_node
from ..frontend.trace.pytree import structure as structure
from ..frontend.trace.pytree import unflatten as unflatten
from ..frontend.trace.pytree import upto as upto

__all__ = [
    "ClassT", "LEAF", "TreeDef", "children_of", "flatten", "is_node_type", "leaves", "map", "node_of", "register_dataclass",
    "register_model", "register_pytree_node", "structure", "unflatten", "upto",
]
