"""The expression at which a program died, and what the names in it stood for.

Python 3.11 and later know of each instruction which part of the source it was made from (PEP 657), so the failing expression is read off the traceback
without a library and without parsing the whole file. Names are looked up as data: what would have to be called is left out.
"""

from __future__ import annotations

import ast
import linecache
from itertools import islice
from types import FrameType, TracebackType
from typing import Any, NamedTuple

from kb.inspection.operands import is_module, members, own_attributes

__all__ = ["Expression", "failing_expression", "named_values"]

_LONGEST = 4000
"""Characters of an expression that is looked at."""
_MAX_NODES = 400
"""Nodes of an expression that are looked at."""
_MISSING = object()
_TRANSPARENT = (ast.Module, ast.Expr, ast.Tuple, ast.List, ast.Starred, ast.keyword, ast.Return, ast.Slice)
"""Nodes whose parts belong to the expression around them."""


class Expression(NamedTuple):
    """The source of what failed. `lines` are the whole lines that it is on; `start` and `end` are its offsets in them, joined by line breaks."""

    file: str
    line: int
    lines: tuple[str, ...]
    start: int
    end: int

    @property
    def code(self) -> str:
        """The expression alone."""
        return "\n".join(self.lines)[self.start : self.end]


def failing_expression(traceback: TracebackType) -> Expression | None:
    """Return what this frame of the traceback was doing, or None where its source is not known."""
    code = traceback.tb_frame.f_code
    positions = next(islice(code.co_positions(), traceback.tb_lasti // 2, None), None)
    if positions is None:
        return None
    first, last, start, end = positions
    if first is None or last is None or start is None or end is None:
        return None
    lines = linecache.getlines(code.co_filename, traceback.tb_frame.f_globals)[first - 1 : last]
    if len(lines) != last - first + 1 or sum(map(len, lines)) > _LONGEST:
        return None
    lines = [line.rstrip("\r\n") for line in lines]
    begin = _characters(lines[0], start)
    stop = sum(len(line) + 1 for line in lines[:-1]) + _characters(lines[-1], end)
    return Expression(code.co_filename, first, tuple(lines), begin, stop)


def named_values(code: str, frame: FrameType) -> list[tuple[str, object, bool]]:
    """Return what the names, attributes and items in a piece of source stood for in the frame: how it is written, the value, and whether it is direct.

    Direct is what the expression itself works on, and not only a call inside it. Of `self.fc` the longest form is returned, and not `self` as well.
    They are in the order of the source.
    """
    tree = _parsed(code)
    queue: list[tuple[ast.AST, int]] = [(tree, 0)] if tree else []
    named: list[tuple[int, int, str, object, bool]] = []
    at = 0
    while at < min(len(queue), _MAX_NODES):
        node, depth = queue[at]
        at += 1
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            try:
                value = _value_of(node, frame)
            except (LookupError, TypeError):
                pass
            else:
                named.append((node.lineno, node.col_offset, ast.unparse(node), value, depth <= 1))
                continue
        if not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            is_part = isinstance(node, _TRANSPARENT) or (isinstance(node, ast.Attribute) and depth == 1)
            queue += [(child, depth if is_part else depth + 1) for child in ast.iter_child_nodes(node)]
    return [(name, value, direct) for _, _, name, value, direct in sorted(named, key=lambda entry: entry[:2])]


def _value_of(node: ast.expr, frame: FrameType) -> object:
    """Return what a name stood for in the frame. A LookupError says that it cannot be told without running code."""
    if isinstance(node, ast.Name):
        for scope in (frame.f_locals, frame.f_globals):
            if (value := scope.get(node.id, _MISSING)) is not _MISSING:
                return value
    elif isinstance(node, ast.Attribute):
        return _attribute(_value_of(node.value, frame), node.attr)
    elif isinstance(node, ast.Subscript):
        return _item(_value_of(node.value, frame), node.slice)
    raise LookupError


def _attribute(value: object, name: str) -> object:
    """Return an attribute that is data of the instance: its own, or one that a module has registered."""
    attributes = own_attributes(value)
    if name in attributes:
        return attributes[name]
    if is_module(value):
        for registry in ("_parameters", "_buffers", "_modules"):
            registered = members(value, registry)
            if name in registered:
                return registered[name]
    raise LookupError


def _item(value: Any, index: ast.expr) -> object:
    """Return an item of a list, tuple or dictionary, or a child of a container of modules, whose index is written out."""
    try:
        key = ast.literal_eval(index)
    except ValueError:
        raise LookupError from None
    if type(key) not in (int, str):
        raise LookupError
    if is_module(value):
        registered = members(value, "_modules")
        return list(registered.values())[key] if type(key) is int else registered[key]
    if type(value) in (list, tuple, dict):
        return value[key]
    raise LookupError


def _parsed(code: str) -> ast.AST | None:
    for form in (f"({code}\n)", code):
        try:
            return ast.parse(form)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _characters(line: str, offset: int) -> int:
    """Return the characters that a number of bytes of a line is, which is how Python counts columns."""
    return len(line.encode()[:offset].decode(errors="replace"))
