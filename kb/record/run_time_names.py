"""Find the names that a file sets while it runs, in its own module or in others: `setattr(module, name, …)`, `globals()[name] = …`, `sys.modules[…] = …`.

A name that the file writes out is a name like any other. Of the rest only the module is known, and the record then does not claim that the module lacks
a name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from kb.record.syntax import all_statements, dotted_name
from kb.startup.named_tuple import NamedTuple

__all__ = ["RunTimeNames", "names_set_at_run_time"]

_READERS = frozenset(
    "getattr hasattr dir vars id len isinstance getmembers getmodule getdoc testmod eval list sorted dict".split()
)
"""Functions that may be given a module or its namespace and add nothing to it."""


class RunTimeNames(NamedTuple):
    """The qualified names that a file sets and writes out, and the modules into which it sets names that only running it tells, with the reason."""

    written: frozenset[str]
    modules: dict[str, str]


def names_set_at_run_time(tree: ast.Module, module: str, qualified: Callable[[str], str]) -> RunTimeNames:
    """Return what the functions and statements of a file set. `qualified` returns the absolute name of a dotted name of the file."""
    return _Finder(tree, module, qualified).find()


class _Finder:
    def __init__(self, tree: ast.Module, module: str, qualified: Callable[[str], str]) -> None:
        self._statements = list(all_statements(tree.body))
        self._module, self._qualified = module, qualified
        self._variables = dict(self._bound_modules())
        self._written: set[str] = set()
        self._modules: dict[str, str] = {}

    def _bound_modules(self) -> Iterator[tuple[str, str]]:
        """Yield the variables that hold a module, in functions too, with the module's name."""
        for node in self._statements:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    head = alias.name.partition(".")[0]
                    yield (alias.asname, alias.name) if alias.asname else (head, head)
            elif isinstance(node, ast.Assign) and (module := self._imported(node.value)):
                yield from ((target.id, module) for target in node.targets if isinstance(target, ast.Name))

    def find(self) -> RunTimeNames:
        for statement in self._statements:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._read_target(target)
                    if _is_namespace(value):
                        self._note(self._module, "globals()")
                case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                    self._read_target(target)
            called = getattr(statement, "value", None)
            if isinstance(called, ast.Call):
                self._read_call(called)
        return RunTimeNames(frozenset(self._written), self._modules)

    def _note(self, module: str, reason: str) -> None:
        if module:
            self._modules.setdefault(module, reason)

    def _read_target(self, target: ast.expr) -> None:
        match target:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._read_target(part)
            case ast.Attribute(value=owner, attr=name):
                if module := self._module_of(owner):
                    self._written.add(f"{module}.{name}")
                if name == "__class__" and self._imported(owner):
                    self._note(module, "sys.modules")
            case ast.Subscript(value=owner, slice=key):
                if dotted_name(owner) == "sys.modules":
                    self._note(self._named(key) or self._module, "sys.modules")
                elif module := self._namespace_of(owner):
                    self._set(module, key, "globals()")

    def _read_call(self, call: ast.Call) -> None:
        match call:
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, key, _]):
                self._set(self._module_of(owner), key, "setattr")
            case ast.Call(func=ast.Name(id="exec")) if len(call.args) == 1 or any(map(_is_namespace, call.args[1:])):
                self._note(self._module, "exec")
            case ast.Call(func=ast.Attribute(value=owner, attr="update" | "setdefault" | "__setitem__")):
                self._note(self._namespace_of(owner), "globals()")
            case ast.Call(args=[ast.Name(id="__name__"), ast.Dict(keys=keys)]):
                for key in filter(None, keys):  # `register_model_deprecations(__name__, {old: new})` of timm
                    self._set(self._module, key, "passed to a function")
            case ast.Call(func=function, args=arguments):
                if dotted_name(function).rpartition(".")[2] not in _READERS:
                    for argument in arguments:
                        if _is_namespace(argument) or self._is_own_module(argument):
                            self._note(self._module, "passed to a function")

    def _set(self, module: str, key: ast.expr, reason: str) -> None:
        if module and isinstance(key, ast.Constant) and isinstance(key.value, str):
            self._written.add(f"{module}.{key.value}")
        else:
            self._note(module, reason)

    def _namespace_of(self, owner: ast.expr) -> str:
        """Return the module whose namespace an expression is: `globals()`, `vars(module)`, `module.__dict__`; else the empty string."""
        match owner:
            case ast.Call(func=ast.Name(id="globals" | "locals" | "vars"), args=[]):
                return self._module
            case ast.Call(func=ast.Name(id="vars"), args=[inner]) | ast.Attribute(value=inner, attr="__dict__"):
                return self._module_of(inner)
        return ""

    def _module_of(self, node: ast.expr) -> str:
        """Return the absolute name of what may be a module: an imported name, a variable that holds a module; else the empty string."""
        name = dotted_name(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if not name:
            return self._imported(node)
        head, dot, rest = name.partition(".")
        return self._variables[head] + dot + rest if head in self._variables else self._qualified(name)

    def _imported(self, node: ast.expr) -> str:
        """Return the module in `sys.modules["…"]` or `import_module("…")`."""
        match node:
            case ast.Subscript(value=owner, slice=key) if dotted_name(owner) == "sys.modules":
                return self._named(key)
            case ast.Call(func=function, args=[key, *_]) if dotted_name(function).endswith(
                ("import_module", "__import__")
            ):
                return self._named(key)
        return ""

    def _is_own_module(self, node: ast.expr) -> bool:
        return self._imported(node) == self._module

    def _named(self, key: ast.expr) -> str:
        match key:
            case ast.Name(id="__name__"):
                return self._module
            case ast.Constant(value=str() as name):
                return name
        return ""


def _is_namespace(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted_name(node.func) == "globals"
