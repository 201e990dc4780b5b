"""The names that a program refers to, with aliases resolved: `from os import _exit as leave` and `leave()` is a reference to `os._exit`."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from kb.corpus.programs import ProgramError, program_nodes

__all__ = ["UNKNOWN", "Program", "Reference", "constant_attribute", "parse", "read_program"]

UNKNOWN = "?"
"""The first part of a name whose object is not known: `?.throw` for `x().throw`."""

_BUILTINS = frozenset(vars(builtins))
_REEXPORTED = frozenset(
    "_thread asyncio atexit builtins code codeop contextlib ctypes dis faulthandler functools gc importlib inspect io logging marshal "
    "operator os pickle runpy signal subprocess sys threading traceback types unittest warnings weakref".split()
)
"""Standard library modules that other modules import and so offer as attributes: `torch.os` is `os`, `argparse._sys` is `sys`."""
_OWN_MODULES = frozenset({"torch.types", "torch.signal", "torch._logging"})
"""Modules of torch with such a name that are its own."""
Use = Literal["load", "store"]
_USES: dict[type[ast.expr_context], Use] = {ast.Load: "load", ast.Store: "store", ast.Del: "store"}
_PASSES = 4
"""How often assignments are followed: `a = sys; b = a; c = b` takes three."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name or attribute that a program uses: its dotted name, where it is, and how.

    `use` is "store" where the name is assigned or deleted; `parent` is the node around it.
    """

    name: str
    node: ast.AST
    use: Use
    parent: ast.AST

    @property
    def line(self) -> int:
        """The line of the program, from 1."""
        return getattr(self.node, "lineno", 1)

    @property
    def last(self) -> str:
        """The last part of the dotted name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Program:
    """A parsed program: its tree, all nodes, every node's parent, and what its names refer to."""

    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    parents: dict[ast.AST, ast.AST]
    bindings: dict[str, frozenset[str]]
    references: tuple[Reference, ...]
    rebound: dict[str, int]
    """Imported names that something else is bound to as well, with the line of that."""


def parse(source: str) -> ast.Module:
    """Return a new syntax tree of a program, without printing the warnings that Python has about it. Raises like `read_program`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


@lru_cache(maxsize=4096)
def read_program(source: str) -> Program:
    """Return a program with its references. Raises SyntaxError, and RecursionError or MemoryError for one that is nested too deeply."""
    try:
        nodes = program_nodes(source)
    except ProgramError:  # raises SyntaxError, or reads what no entry may say
        nodes = tuple(ast.walk(parse(source)))
    tree = nodes[0]
    assert isinstance(tree, ast.Module)
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    bindings = _bindings(nodes)
    references = tuple(_references(nodes, parents, bindings))
    return Program(tree, nodes, parents, bindings, references, _rebound(nodes))


def _bindings(nodes: Sequence[ast.AST]) -> dict[str, frozenset[str]]:
    """Return what each name may refer to, wherever it is bound; a name that is bound to something unknown has an empty set."""
    bound: dict[str, set[str]] = {}
    for node in nodes:
        for name, origin in _imported(node):
            bound.setdefault(name, set()).add(origin)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.setdefault(node.name, set())
        elif isinstance(node, ast.arg):
            bound.setdefault(node.arg, set())
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.setdefault(node.id, set())
    pairs = list(_assignments(nodes))
    for _ in range(_PASSES):
        frozen = {name: frozenset(origins) for name, origins in bound.items()}
        for target, value in pairs:
            bound[target].update(_resolve(value, frozen))
    return {name: frozenset(origins) for name, origins in bound.items()}


def _rebound(nodes: Sequence[ast.AST]) -> dict[str, int]:
    imported = {name for node in nodes for name, _ in _imported(node)}
    lines: dict[str, int] = {}
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                if name in imported:
                    lines.setdefault(name, node.lineno)
    return lines


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (name, what it refers to) for each name that an import statement binds."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            root = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (root, root)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, _canonical(f"{node.module or ''}.{alias.name}")


def _assignments(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield (name, expression) for each name that an expression is bound to."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _pairs(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                yield from _pairs(target, value)
            case (
                ast.For(target=target, iter=ast.Tuple(elts=elements) | ast.List(elts=elements))
                | ast.comprehension(target=target, iter=ast.Tuple(elts=elements) | ast.List(elts=elements))
            ):
                for element in elements:
                    yield from _pairs(target, element)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                yield from _pairs(target, value)
            case ast.arguments():
                yield from _defaults(node)


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    for argument, default in zip(reversed(positional), reversed(arguments.defaults), strict=False):
        yield argument.arg, default
    for argument, keyword in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if keyword is not None:
            yield argument.arg, keyword


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        for inner, element in zip(target.elts, value.elts, strict=False):
            yield from _pairs(inner, element)


def _resolve(node: ast.AST, bindings: dict[str, frozenset[str]]) -> frozenset[str]:
    """Return the dotted names that an expression may refer to; none for an object that no name leads to."""
    if isinstance(node, ast.Name):
        if node.id in bindings:
            return bindings[node.id]
        return frozenset({f"builtins.{node.id}"} if node.id in _BUILTINS else ())
    if isinstance(node, ast.Attribute):
        return frozenset(_canonical(f"{base}.{node.attr}") for base in _resolve(node.value, bindings))
    if isinstance(node, ast.Call) and (attribute := constant_attribute(node)) is not None:
        return frozenset(_canonical(f"{base}.{attribute}") for base in _resolve(node.args[0], bindings))
    if isinstance(node, ast.IfExp):
        return _resolve(node.body, bindings) | _resolve(node.orelse, bindings)
    return frozenset()


def constant_attribute(call: ast.Call) -> str | None:
    """Return the name in `getattr(x, "name")` and its like, None for other calls and for names that are computed."""
    if not (isinstance(call.func, ast.Name) and call.func.id in {"getattr", "setattr", "hasattr", "delattr"}):
        return None
    name = call.args[1] if len(call.args) > 1 and not call.keywords else None
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None


def _canonical(name: str) -> str:
    """Cut what leads to a standard library module through other modules: `torch.os.sys.exit` becomes `sys.exit`."""
    parts = name.split(".")
    for index in range(len(parts) - 1, 0, -1):
        if parts[index].lstrip("_") in _REEXPORTED and ".".join(parts[: index + 1]) not in _OWN_MODULES:
            return ".".join([parts[index].lstrip("_"), *parts[index + 1 :]])
    return name


def _references(
    nodes: Sequence[ast.AST], parents: dict[ast.AST, ast.AST], bindings: dict[str, frozenset[str]]
) -> Iterator[Reference]:
    for node in nodes:
        names, use = _referred(node, bindings)
        for name in names:
            yield Reference(name, node, use, parents.get(node, node))


def _referred(node: ast.AST, bindings: dict[str, frozenset[str]]) -> tuple[list[str], Use]:
    """Return the dotted names that a node refers to, and how it uses them."""
    match node:
        case ast.Name(ctx=context):
            return sorted(_resolve(node, bindings)), _USES[type(context)]
        case ast.Attribute(attr=name, ctx=context):
            return sorted(_resolve(node, bindings)) or [f"{UNKNOWN}.{name}"], _USES[type(context)]
        case ast.Call(func=ast.Name(id=function)) if (attribute := constant_attribute(node)) is not None:
            bases = _resolve(node.args[0], bindings) or {UNKNOWN}
            use: Use = "load" if function in {"getattr", "hasattr"} else "store"
            return sorted(_canonical(f"{base}.{attribute}") for base in bases), use
        case ast.ImportFrom(module=module, names=aliases):
            return [_canonical(f"{module or ''}.{alias.name}") for alias in aliases], "load"
        case ast.Import(names=imported):
            return [_canonical(alias.name) for alias in imported], "load"
        case ast.MatchClass(kwd_attrs=keywords):
            return [f"{UNKNOWN}.{keyword}" for keyword in keywords], "load"
        case _:
            return [], "load"
