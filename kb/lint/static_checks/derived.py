"""Which names of a program hold what comes from a library: a forward data flow over assignments that ignores order and control flow."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache

from kb.lint.static_checks.names import read_program

__all__ = ["derived_names", "handled_in", "mentions_library", "statement_at"]


@lru_cache(maxsize=2048)
def derived_names(source: str, standard_library: bool = False) -> frozenset[str]:
    """Return the names that may hold an object of an imported package, or something computed from such an object.

    Modules of the standard library count as packages only if asked for: what `resource` measures says something about a library, but is not raised by
    it. Parameters of functions count, because what calls the function is not followed.
    """
    nodes = read_program(source).nodes
    names = {name for node in nodes for name in _imported(node, standard_library)}
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    receivers: dict[str, list[set[str]]] = {}
    for targets, sources in _flows(nodes):
        for name in sources:
            receivers.setdefault(name, []).append(targets)
    queue = list(names)
    while queue:
        for targets in receivers.pop(queue.pop(), ()):
            queue += targets - names
            names |= targets
    return frozenset(names)


def mentions_library(node: ast.AST, source: str, standard_library: bool = False) -> bool:
    """Return whether a statement refers to a library, or to something that comes from one. Of a compound statement only its head counts."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return bool(set(_imported(node, standard_library)))
    names = derived_names(source, standard_library)
    return any(isinstance(part, ast.Name) and part.id in names for head in _head(node) for part in ast.walk(head))


def statement_at(source: str, line: int) -> ast.stmt | None:
    """Return the innermost statement that covers a line of a program, None where there is none. Decorators belong to their function."""
    covering = [node for node in read_program(source).nodes if isinstance(node, ast.stmt) and _covers(node, line)]
    return max(covering, key=lambda node: (node.lineno, -(node.end_lineno or 0)), default=None)


def _covers(node: ast.stmt, line: int) -> bool:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []
    return (
        min([node.lineno, *(decorator.lineno for decorator in decorators)]) <= line <= (node.end_lineno or node.lineno)
    )


def handled_in(source: str, statement: ast.stmt | None) -> ast.stmt | None:
    """Return the statement of a program that is the same as the given one and whose errors the program handles, None where there is none."""
    if statement is None:
        return None
    wanted = ast.dump(statement)
    for node in read_program(source).nodes:
        if isinstance(node, ast.Try | ast.TryStar) and node.handlers:
            for inner in (part for child in node.body for part in ast.walk(child)):
                if isinstance(inner, ast.stmt) and ast.dump(inner) == wanted:
                    return inner
    return None


def _imported(node: ast.AST, standard_library: bool) -> Iterator[str]:
    """Yield the names that an import statement binds to a package, or to a module of the standard library if those count."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if standard_library or not _is_standard(alias.name):
                yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.ImportFrom) and (standard_library or not _is_standard(node.module or "")):
        for alias in node.names:
            yield alias.asname or alias.name


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _flows(nodes: Iterable[ast.AST]) -> Iterator[tuple[set[str], set[str]]]:
    """Yield (names that receive something, names that it may come from)."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                yield set().union(*map(_names, targets)), _names(value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                yield _names(target), _names(value)
            case ast.AugAssign(target=target, value=value):
                yield _names(target), _names(value)
            case ast.For(target=target, iter=iterated) | ast.comprehension(target=target, iter=iterated):
                yield _names(target), _names(iterated)
            case ast.withitem(context_expr=expression, optional_vars=ast.expr() as target):
                yield _names(target), _names(expression)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield {name}, _names(node)
            case ast.Try(body=body, handlers=handlers):
                caught = {handler.name for handler in handlers if handler.name}
                yield caught, set().union(*map(_names, body))
            case ast.Call(func=ast.Attribute(value=receiver), args=arguments, keywords=keywords):
                values = [*arguments, *(keyword.value for keyword in keywords)]
                yield _names(receiver), set().union(*map(_names, values))


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _head(node: ast.AST) -> list[ast.AST]:
    """Return the expressions that a statement itself evaluates: the test of an `if`, the decorators of a function."""
    match node:
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(target=target, iter=iterated):
            return [target, iterated]
        case ast.With(items=items):
            return list(items)
        case ast.FunctionDef(decorator_list=decorators, args=arguments):
            return [*decorators, *arguments.defaults, *filter(None, arguments.kw_defaults)]
        case ast.ClassDef(decorator_list=decorators, bases=bases, keywords=keywords):
            return [*decorators, *bases, *keywords]
        case ast.Try():
            return []
        case _:
            return [node]
