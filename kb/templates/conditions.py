"""Read conditions on the values of a message, such as `target == 0` or `left[1] % right[0] == 0`, which tell one of several causes.

A condition is a Python expression of the placeholders' names, numbers and texts. It has comparisons, `and`, `or`, `not`, `in`, the arithmetic of whole numbers
and `len`. It is read when an entry is checked or indexed; `kb.templates.value_conditions` evaluates what was read, because `ast` takes longer to import than
a look-up.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any, TypedDict

__all__ = ["ConditionError", "ValueCondition", "check_condition", "read_conditions"]

_MAX_LENGTH = 200
_SIGNS: dict[type, str] = {
    ast.Not: "not",
    ast.USub: "-",
    ast.And: "and",
    ast.Or: "or",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}


class ValueCondition(TypedDict):
    """A condition as it is written and as it is evaluated, and the number of the item that it tells."""

    condition: str
    item: int
    parsed: Any


class ConditionError(ValueError):
    """A condition cannot be used; the text says why."""


def check_condition(source: str, names: Collection[str]) -> None:
    """Raise `ConditionError` unless the condition is a comparison of values that are captured as `names`."""
    tree = _parse(source)
    if not isinstance(tree, ast.Compare | ast.BoolOp | ast.UnaryOp):
        raise ConditionError(f"{source!r} compares nothing")
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {"len"}
    if not used:
        raise ConditionError(f"{source!r} uses none of the message's values")
    if unknown := sorted(used - set(names)):
        raise ConditionError(f"{source!r} uses {', '.join(unknown)}; name the placeholders")
    compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    if any(
        ast.dump(left) == ast.dump(right)
        for node in compared
        for left, right in pairwise([node.left, *node.comparators])
    ):
        raise ConditionError(f"{source!r} compares a value with itself, and nan is a text here")
    _read(tree)


def read_conditions(causes: Mapping[str, int]) -> list[ValueCondition]:
    """Return the conditions with the number of the item that each tells, in order; what cannot be used is left out."""
    return list(_readable(causes))


def _readable(causes: Mapping[str, int]) -> Iterator[ValueCondition]:
    for source, item in causes.items():
        try:
            yield {"condition": source, "item": item, "parsed": _read(_parse(source))}
        except ConditionError:
            continue


def _parse(source: str) -> ast.expr:
    if len(source) > _MAX_LENGTH:
        raise ConditionError(f"a condition has at most {_MAX_LENGTH} characters")
    try:
        return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConditionError(f"{source!r} is no Python expression") from error


def _read(node: ast.expr) -> Any:
    """Return the expression as `kb.templates.value_conditions` evaluates it: a number, or a list of its kind and its parts."""
    match node:
        case ast.BoolOp(op, parts):
            return [_SIGNS[type(op)], *map(_read, parts)]
        case ast.UnaryOp(op, part) if type(op) in _SIGNS:
            return [_SIGNS[type(op)], _read(part)]
        case ast.BinOp(left, op, right) if type(op) in _SIGNS:
            return [_SIGNS[type(op)], _read(left), _read(right)]
        case ast.Compare(left, operators, parts) if all(type(op) in _SIGNS for op in operators):
            steps = zip(operators, pairwise([left, *parts]), strict=True)
            return ["and", *([_SIGNS[type(op)], _read(before), _read(after)] for op, (before, after) in steps)]
        case ast.Subscript(ast.Name(name), ast.Constant(int(at)) | ast.UnaryOp(ast.USub(), ast.Constant(int(at)))):
            return ["number", name, -at if isinstance(node.slice, ast.UnaryOp) else at]
        case ast.Call(ast.Name("len"), [ast.Name(name)], []):
            return ["len", name]
        case ast.Tuple(parts):
            return ["tuple", *map(_read, parts)]
        case ast.Name(name) if name != "len":
            return ["value", name]
        case ast.Constant(str(text)):
            return ["text", text.casefold()]
        case ast.Constant(int() | float()) if not isinstance(node.value, bool):
            return node.value
    raise ConditionError(f"{ast.unparse(node)!r} is no comparison of values")
