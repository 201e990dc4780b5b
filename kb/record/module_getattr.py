"""The names that a module's `__getattr__` returns, as far as the file writes them out: what it compares with, and the tables in which it looks."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from kb.record.syntax import dotted_name

__all__ = ["names_served"]


def names_served(tree: ast.Module, function: ast.FunctionDef) -> frozenset[str]:
    """Return the names that `__getattr__` may return. A name for which it raises an error is none of them."""
    tables = _tables(tree)
    texts = _texts(_nodes_that_return(function.body), tables)
    return frozenset(text for text in texts if text.isidentifier() and not text.startswith("__"))


def _texts(nodes: Iterable[ast.AST], tables: dict[str, set[str]]) -> set[str]:
    """Return the strings among the nodes, and those in the variables that they name."""
    texts = set()
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
        elif isinstance(node, ast.Name):
            texts |= tables.get(node.id, set())
    return texts


def _nodes_that_return(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without raised errors and without conditions that lead to one."""
    for statement in body:
        match statement:
            case ast.Raise():
                pass
            case ast.If(test=test, body=inner, orelse=otherwise):
                is_negative = isinstance(inner[-1], ast.Raise) and _is_negative(test)
                if is_negative or any(isinstance(part, ast.Return) for part in ast.walk(statement)):
                    yield from ast.walk(test)
                yield from _nodes_that_return([*inner, *otherwise])
            case _:
                yield from ast.walk(statement)


def _is_negative(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Not | ast.NotIn | ast.NotEq) for node in ast.walk(test))


def _tables(tree: ast.Module) -> dict[str, set[str]]:
    """Return the strings from which the module makes each of its variables: what is assigned, put in, or added by `update` and the like."""
    tables: dict[str, set[str]] = {}
    for node in _statements(tree.body):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    texts = _texts(ast.walk(value), tables)
                    if isinstance(target, ast.Subscript):
                        texts |= _texts(ast.walk(target.slice), tables) | tables.get(dotted_name(target), set())
                    tables[dotted_name(target)] = texts
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                tables[dotted_name(target)] = _texts(ast.walk(value), tables)
            case ast.AugAssign(target=target, value=value):
                tables.setdefault(dotted_name(target), set()).update(_texts(ast.walk(value), tables))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner), args=arguments)):
                for argument in arguments:
                    tables.setdefault(dotted_name(owner), set()).update(_texts(ast.walk(argument), tables))
    return tables


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for block in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, block, []))
