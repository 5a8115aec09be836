# from the table names.toml by `make names`: do not edit
"""`lamina.tree_util`: the names of jax.tree_util, functions of `lamina.tree`."""

from typing import Any

from .tree import DictKey as DictKey
from .tree import FlattenedIndexKey as FlattenedIndexKey
from .tree import GetAttrKey as GetAttrKey
from .tree import KeyEntry as KeyEntry
from .tree import KeyPath as KeyPath
from .tree import Partial as Partial
from .tree import PyTreeDef as PyTreeDef
from .tree import SequenceKey as SequenceKey
from .tree import all as all
from .tree import all as tree_all
from .tree import all_leaves as all_leaves
from .tree import broadcast as broadcast
from .tree import broadcast as tree_broadcast
from .tree import flatten as flatten
from .tree import flatten as tree_flatten
from .tree import flatten_one_level as flatten_one_level
from .tree import flatten_one_level_with_keys as flatten_one_level_with_keys
from .tree import flatten_with_path as flatten_with_path
from .tree import flatten_with_path as tree_flatten_with_path
from .tree import is_tree_node as is_tree_node
from .tree import keystr as keystr
from .tree import leaves as leaves
from .tree import leaves as tree_leaves
from .tree import leaves_with_path as leaves_with_path
from .tree import leaves_with_path as tree_leaves_with_path
from .tree import map as map
from .tree import map as tree_map
from .tree import map_with_path as map_with_path
from .tree import map_with_path as tree_map_with_path
from .tree import ravel_pytree as ravel_pytree
from .tree import reduce as reduce
from .tree import reduce as tree_reduce
from .tree import reduce_associative as reduce_associative
from .tree import reduce_associative as tree_reduce_associative
from .tree import register_dataclass as register_dataclass
from .tree import register_pytree_node as register_pytree_node
from .tree import register_pytree_node_class as register_pytree_node_class
from .tree import register_pytree_with_keys as register_pytree_with_keys
from .tree import register_pytree_with_keys_class as register_pytree_with_keys_class
from .tree import register_static as register_static
from .tree import structure as structure
from .tree import structure as tree_structure
from .tree import transpose as transpose
from .tree import transpose as tree_transpose
from .tree import treedef_children as treedef_children
from .tree import treedef_is_leaf as treedef_is_leaf
from .tree import treedef_tuple as treedef_tuple
from .tree import unflatten as tree_unflatten
from .tree import unflatten as unflatten

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef", "SequenceKey", "all",
    "all_leaves", "broadcast", "flatten", "flatten_one_level", "flatten_one_level_with_keys", "flatten_with_path",
    "is_tree_node", "keystr", "leaves", "leaves_with_path", "map", "map_with_path", "ravel_pytree", "reduce",
    "reduce_associative", "register_dataclass", "register_pytree_node", "register_pytree_node_class",
    "register_pytree_with_keys", "register_pytree_with_keys_class", "register_static", "structure", "transpose", "tree_all",
    "tree_broadcast", "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_with_path", "tree_reduce", "tree_reduce_associative", "tree_structure", "tree_transpose", "tree_unflatten",
    "treedef_children", "treedef_is_leaf", "treedef_tuple", "unflatten",
]
