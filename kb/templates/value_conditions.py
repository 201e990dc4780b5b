"""Conditions on the values of a message, such as `target == 0` or `left[1] % right[0] == 0`: which of several causes its numbers and names tell.

A condition is a Python expression of the placeholders' names, numbers and texts. It has comparisons, `and`, `or`, `not`, `in`, the arithmetic of whole numbers
and `len`. A name stands for a number where its value is one, for the number of bytes of an amount of memory, else for the text in lower case. `left[1]` is the
second number of a size, and `len(left)` the number of its dimensions.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Collection, Mapping
from itertools import pairwise

from kb.text.lexer import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ConditionError", "cause_of_values", "check_condition"]

_MAX_LENGTH = 200
_ARITHMETIC: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type, Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: part not in whole,
}
_SIGNS: dict[type, Any] = {ast.Not: operator.not_, ast.USub: operator.neg}
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,18})?(?:e[-+]?\d{1,2})?")
_AMOUNT = re.compile(r"(?P<number>\d{1,18}(?:\.\d{1,9})?) ?(?P<unit>[kmgt]i?b|bytes?)")
_BYTES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


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
    _evaluate(tree, dict.fromkeys(used, "1"), check=True)


def cause_of_values(causes: Mapping[str, int], values: Mapping[str, str]) -> int:
    """Return the number of the cause whose condition is the first that the values fulfil, as the message printed them; 0 if they fulfil none."""
    return next((number for condition, number in causes.items() if _is_fulfilled(condition, values)), 0)


def _is_fulfilled(source: str, values: Mapping[str, str]) -> bool:
    """Tell whether the values fulfil the condition; one that is missing or of another kind fulfils none, and nothing fulfils what is no condition."""
    try:
        return bool(_evaluate(_parse(source), values))
    except (ConditionError, KeyError, IndexError, TypeError, ZeroDivisionError, OverflowError):
        return False


def _parse(source: str) -> ast.expr:
    if len(source) > _MAX_LENGTH:
        raise ConditionError(f"a condition has at most {_MAX_LENGTH} characters")
    try:
        return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConditionError(f"{source!r} is no Python expression") from error


def _evaluate(node: ast.expr, values: Mapping[str, str], *, check: bool = False) -> Any:
    """Return the value of an expression; with `check`, visit all of it and forgive what its values alone make wrong."""

    def value(part: ast.expr) -> Any:
        return _evaluate(part, values, check=check)

    match node:
        case ast.BoolOp(op, parts):
            results = map(value, parts) if not check else [value(part) for part in parts]
            return all(results) if isinstance(op, ast.And) else any(results)
        case ast.UnaryOp(op, part) if type(op) in _SIGNS:
            return _SIGNS[type(op)](value(part))
        case ast.BinOp(left, op, right) if type(op) in _ARITHMETIC:
            return 1 if check and (value(left), value(right)) else _ARITHMETIC[type(op)](value(left), value(right))
        case ast.Compare(left, operators, parts) if all(type(op) in _COMPARISONS for op in operators):
            operands = [value(part) for part in (left, *parts)]
            steps = zip(operators, operands, operands[1:], strict=False)
            return check or all(_COMPARISONS[type(op)](before, after) for op, before, after in steps)
        case ast.Subscript(ast.Name(name), ast.Constant(int(at)) | ast.UnaryOp(ast.USub(), ast.Constant(int(at)))):
            position = -at if isinstance(node.slice, ast.UnaryOp) else at
            return 1 if check else numbers(values[name])[position]
        case ast.Call(ast.Name("len"), [ast.Name(name)], []):
            return len(numbers(values[name]))
        case ast.Tuple(parts):
            return tuple(map(value, parts))
        case ast.Name(name):
            return _read(values[name])
        case ast.Constant(str(text)):
            return text.casefold()
        case ast.Constant(int() | float()) if not isinstance(node.value, bool):
            return node.value
    raise ConditionError(f"{ast.unparse(node)!r} is no comparison of values")


def _read(value: str) -> Any:
    """Return what a value says: a number, the bytes of an amount of memory, or its text in lower case."""
    text = value.strip("'\"` ").casefold()
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text or "e" in text else int(text)
    if amount := _AMOUNT.fullmatch(text):
        return float(amount["number"]) * _BYTES[amount["unit"][0]]
    return text
