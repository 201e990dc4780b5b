"""Which of several causes the numbers and names of a message tell: the first whose condition they fulfil.

A name stands for a number where its value is one, for the number of bytes of an amount of memory, else for the text in lower case. `left[1]` is the second
number of a size, and `len(left)` the number of its dimensions. `kb.templates.conditions` reads the conditions.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping

from kb.startup.lazy_regex import lazy_pattern
from kb.text.lexer import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kb.templates.conditions import ValueCondition

__all__ = ["cause_of_values"]

_OPERATORS: dict[str, Any] = {
    "not": operator.not_,
    "+": operator.add,
    "-": lambda left, *right: left - right[0] if right else -left,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda part, whole: part in whole,
    "not in": lambda part, whole: part not in whole,
    "tuple": lambda *parts: parts,
}
_NUMBER = lazy_pattern(r"-?\d{1,18}(?:\.\d{1,18})?(?:e[-+]?\d{1,2})?")
_AMOUNT = lazy_pattern(r"(?P<number>\d{1,18}(?:\.\d{1,9})?) ?(?P<unit>[kmgt]i?b|bytes?)")
_BYTES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def cause_of_values(conditions: Iterable[ValueCondition], values: Mapping[str, str]) -> int:
    """Return the number of the item whose condition is the first that the values fulfil, as the message printed them; 0 if they fulfil none."""
    return next((known["item"] for known in conditions if _is_fulfilled(known["parsed"], values)), 0)


def _is_fulfilled(parsed: Any, values: Mapping[str, str]) -> bool:
    """Tell whether the values fulfil the condition; one that is missing or of another kind fulfils none."""
    try:
        return bool(_evaluate(parsed, values))
    except (KeyError, IndexError, TypeError, ZeroDivisionError, OverflowError):
        return False


def _evaluate(parsed: Any, values: Mapping[str, str]) -> Any:
    """Return the value of an expression: a number, or a list of its kind and its parts."""
    if not isinstance(parsed, list):
        return parsed
    kind, *parts = parsed
    if kind == "text":
        return parts[0]
    if kind == "value":
        return _read(values[parts[0]])
    if kind == "number":
        return numbers(values[parts[0]])[parts[1]]
    if kind == "len":
        return len(numbers(values[parts[0]]))
    evaluated = (_evaluate(part, values) for part in parts)
    if kind in ("and", "or"):
        return all(evaluated) if kind == "and" else any(evaluated)
    return _OPERATORS[kind](*evaluated)


def _read(value: str) -> Any:
    """Return what a value says: a number, the bytes of an amount of memory, or its text in lower case."""
    text = value.strip("'\"` ").casefold()
    if not text[:1].isdecimal() and not text.startswith("-"):
        return text
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text or "e" in text else int(text)
    if amount := _AMOUNT.fullmatch(text):
        return float(amount["number"]) * _BYTES[amount["unit"][0]]
    return text
