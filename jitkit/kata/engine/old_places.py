"""imports of a learner's file -> imports of the same names from their present modules

A learner's file imports from the modules that jitkit had when the file was made. At first all modules were in one folder;
today most are in a room, a package such as `jitkit.pjit`. When a file is read, each import is silently redirected to its
present module.
"""

from __future__ import annotations

import ast


def todays_imports(tree: ast.Module) -> ast.Module:
    """Return the tree of a learner's file, with each import from jitkit redirected to its present place. The tree is
    changed in place.
    """
    _Imports().visit(tree)
    return tree


# room -> its modules, which were all in one folder before there were rooms
_ROOMS = {
    "base": "config errors util traceback_util source_info report pretty_printer rich_display",
    "core": "element_types dtypes effects operators avals tracer",
    "interpreters": "key_reuse",
    "tree_util": "tree_nodes=nodes tree_registry=registry treedef tree_paths=paths tree_compile=compiled",
    "jaxpr": "jaxpr_printer=printer jaxpr_html=html jaxpr_check=check",
    "runtime": "array tokens",
    "signature": "api_util argument_spec argument_errors shape_struct",
    "compiler": "compiler disk_cache placement program jit_shardings=shardings",
    "misses": "function_origin=origin call_record=record call_differences=differences explain",
    "pjit": "calling compilation_cache stages dispatch jit_call tracing pjit=jitted api",
    "lax": "callback",
}
_MOVED = {
    old: (room, new or old)
    for room, modules in _ROOMS.items()
    for old, _, new in (module.partition("=") for module in modules.split())
} | {
    "lax.dot": ("lax", "dot_products"),
    "pjit.mapping": ("interpreters", "vmap"),
    "pjit.key_reuse": ("interpreters", "key_reuse"),
    **{f"kata.{name}": ("kata.subjects", name) for name in ("chips", "gradients", "pitfalls", "quiz", "small_jit")},
}
# names that were moved from one module to another
_MOVED_NAMES = {
    "tree_util.nodes.RegisteredNode": "tree_util.registered_nodes",
    "lax.control_flow.scanning.no_leading_axis": "lax.control_flow.counting",
    "lax.control_flow.scanning.traced_length": "lax.control_flow.counting",
}


class _Imports(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit the children of a node that contains statements; return any other node as it is, since no import is in it."""
        return super().generic_visit(node) if hasattr(node, "body") or isinstance(node, ast.Match) else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | list[ast.stmt]:
        """Return the statement if none of its names has moved, else one statement for each name."""
        package, _, module = (node.module or "").partition(".")
        if node.level or package != "jitkit":
            return node
        found = [self._moved(module, alias) for alias in node.names]
        if all(old is new for old, (_, new) in zip(node.names, found, strict=True)):
            return node
        for old, (_, new) in zip(node.names, found, strict=True):
            ast.copy_location(new, old)
        return [ast.copy_location(ast.ImportFrom(origin, [alias], 0), node) for origin, alias in found]

    def _moved(self, module: str, alias: ast.alias) -> tuple[str, ast.alias]:
        """Return the present place of a module's name, and how to import it from there."""
        dotted = f"{module}.{alias.name}".lstrip(".")
        if dotted in _MOVED and dotted not in ("explain", "lax.dot"):  # a module; those two names are functions now
            room, name = _MOVED[dotted]
            same = alias.asname is None and name == alias.name
            return f"jitkit.{room}", ast.alias(name, None if same else alias.asname or alias.name)
        if module in _MOVED and alias.name not in _ROOMS.get(module, "").split():
            return f"jitkit.{'.'.join(_MOVED[module])}", ast.alias(alias.name, alias.asname)
        if dotted in _MOVED_NAMES:
            return f"jitkit.{_MOVED_NAMES[dotted]}", ast.alias(alias.name, alias.asname)
        return ".".join(filter(None, ("jitkit", module))), alias
