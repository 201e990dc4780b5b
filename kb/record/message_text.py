"""The text of an expression in source code, as far as it is known without running it."""

from __future__ import annotations

import ast
import re
import string

__all__ = ["SLOT", "text_of"]

SLOT = "\x00"
"""Stands for a part that is known only at run time."""

_CONVERSION = re.compile(r"%(?:\(\w+\))?[-#0 +]*(?:\d+|\*)?(?:\.\d+)?[diouxXeEfFgGcrsa]|%%")


def text_of(node: ast.expr, texts: dict[str, ast.expr], depth: int = 0) -> str:
    """Return the text of an expression with a mark for every part that is known only at run time; empty if it has no text."""
    if depth > 6:
        return ""
    match node:
        case ast.Constant(value=str() as value):
            return value
        case ast.JoinedStr(values=values):
            return "".join(
                text_of(part, texts, depth + 1) if isinstance(part, ast.Constant) else SLOT for part in values
            )
        case ast.BinOp(left=left, op=ast.Mod()):
            return _CONVERSION.sub(
                lambda conversion: "%" if conversion.group() == "%%" else SLOT, text_of(left, texts, depth + 1)
            )
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = (text_of(part, texts, depth + 1) for part in (left, right))
            return (first or SLOT) + (second or SLOT) if first or second else ""
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return _formatted(text_of(value, texts, depth + 1))
        case ast.Call(func=ast.Attribute(value=value, attr="strip" | "replace" | "join" | "lstrip" | "rstrip")):
            return (
                text_of(value, texts, depth + 1)
                if not isinstance(value, ast.Constant) or len(str(value.value)) > 3
                else ""
            )
        case ast.Call(func=ast.Name(id="str" | "dedent"), args=[inner]):
            return text_of(inner, texts, depth + 1)
        case ast.Lambda(body=body):
            return text_of(body, texts, depth + 1)
        case ast.Name(id=name) if name in texts:
            return text_of(texts[name], {key: value for key, value in texts.items() if key != name}, depth + 1)
    return ""


def _formatted(text: str) -> str:
    try:
        return "".join(
            literal + (SLOT if field is not None else "") for literal, field, _, _ in string.Formatter().parse(text)
        )
    except ValueError:
        return ""
