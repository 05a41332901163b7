"""value -> leaves + treedef

Input: arguments and results, in dicts, lists, tuples, classes. Output: a flat list of leaves, and a treedef that
rebuilds the tree from them. In the order of reading:

    nodes        how to flatten one node: a dict, a list, a namedtuple; `registered_nodes`: a registered class
    key_entries  the step from a node to a child: `[0]`, `['a']`, `.name`
    registry     which types are nodes, and how a class becomes one
    treedef      leaves + treedef -> value; equal treedefs are one object
    skeletons    a tree of a given structure, without the user's classes
    functions    `tree_flatten`, `tree_map` and the other public functions
    paths        key paths, and the differences of two trees in words
    guessing     recognises repeated structures by their roots
    compiled     a treedef as Python code, for frequent structures

JAX: jax/_src/tree_util.py:tree_flatten
"""

from __future__ import annotations

import sys

from ..base import missing_names
from .functions import IsLeaf as IsLeaf
from .functions import Partial as Partial
from .functions import Unspecified as Unspecified
from .functions import all_leaves as all_leaves
from .functions import broadcast_over as broadcast_over
from .functions import broadcast_prefix as broadcast_prefix
from .functions import default_registry as default_registry
from .functions import flatten_by as flatten_by
from .functions import flatten_fun as flatten_fun
from .functions import flatten_into as flatten_into
from .functions import flatten_until as flatten_until
from .functions import tree_all as tree_all
from .functions import tree_broadcast as tree_broadcast
from .functions import tree_flatten as tree_flatten
from .functions import tree_leaves as tree_leaves
from .functions import tree_map as tree_map
from .functions import tree_map_with_path as tree_map_with_path
from .functions import tree_reduce as tree_reduce
from .functions import tree_reduce_associative as tree_reduce_associative
from .functions import tree_structure as tree_structure
from .functions import tree_transpose as tree_transpose
from .functions import tree_unflatten as tree_unflatten
from .functions import treedef_children as treedef_children
from .functions import treedef_is_leaf as treedef_is_leaf
from .functions import treedef_is_strict_leaf as treedef_is_strict_leaf
from .functions import treedef_tuple as treedef_tuple
from .key_entries import DictKey as DictKey
from .key_entries import FlattenedIndexKey as FlattenedIndexKey
from .key_entries import GetAttrKey as GetAttrKey
from .key_entries import KeyEntry as KeyEntry
from .key_entries import KeyPath as KeyPath
from .key_entries import SequenceKey as SequenceKey
from .paths import equality_errors as equality_errors
from .paths import equality_errors_pytreedef as equality_errors_pytreedef
from .paths import explain_difference as explain_difference
from .paths import generate_key_paths as generate_key_paths
from .paths import keystr as keystr
from .paths import nodes_apart as nodes_apart
from .paths import prefix_errors as prefix_errors
from .paths import tree_flatten_with_path as tree_flatten_with_path
from .paths import tree_leaves_with_path as tree_leaves_with_path
from .registry import flatten_one_level as flatten_one_level
from .registry import flatten_one_level_with_keys as flatten_one_level_with_keys
from .registry import is_tree_node as is_tree_node
from .registry import register_dataclass as register_dataclass
from .registry import register_pytree_node as register_pytree_node
from .registry import register_pytree_node_class as register_pytree_node_class
from .registry import register_pytree_with_keys as register_pytree_with_keys
from .registry import register_pytree_with_keys_class as register_pytree_with_keys_class
from .registry import register_static as register_static
from .skeletons import as_built as as_built
from .skeletons import note_keys as note_keys
from .skeletons import skeleton as skeleton
from .treedef import PyTreeDef as PyTreeDef
from .treedef import same_key as same_key

missing_names.explain("tree_util", sys.modules[__name__])
