"""A change of one expression as an entry states it, `$X.view($$$SHAPE)` to `$X.reshape($$$SHAPE)`, applied to a line of the reader's own code.

`$NAME` stands for any expression, `$$$NAME` for any arguments of a call, and `$name` in lower case for a value of the entry's message. Everything else is
Python and matches the same Python, however it is written. What stood for a name is carried over as the reader wrote it.

The notation is that of ast-grep and Semgrep. Their libraries bring parsers for dozens of languages; the standard library parses the only one needed here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from kb.startup.named_tuple import NamedTuple

__all__ = ["CodeChange", "CodePattern", "PatternError", "change_code", "compile_pattern"]

_NAME = re.compile(r"(\$\$\$|\$)([A-Za-z_]\w*)")
_SURROUNDINGS = (
    ("", ""),
    ("if 1:\n", ""),
    ("", " pass"),
    ("if 1:\n", " pass"),
    ("if 1: pass\n", " pass"),
    ("try: pass\n", " pass"),
    ("(", "\n)"),
)
"""What makes a program of a line: an indented one, the head of a block, a branch of one, a part of an expression."""
_ONE, _MANY = "kb__one__", "kb__many__"
_LONGEST = 2000
"""Characters of a line that is looked at."""
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.List, ast.Dict, ast.Set, ast.JoinedStr)
"""Expressions that need no parentheses wherever they are put."""
_IGNORED = ("ctx", "kind", "type_comment", "lineno", "col_offset", "end_lineno", "end_col_offset")


_Names = dict[str, list[ast.AST] | str]
"""What a name of a pattern stands for: nodes, or a value of the message."""


class PatternError(ValueError):
    """A pattern that cannot be used; the message says why."""


class CodePattern(NamedTuple):
    """What is looked for, and the source that takes its place."""

    wanted: ast.expr
    replacement: str
    names: frozenset[str]


class CodeChange(NamedTuple):
    """The changed code, and what each name of the pattern stood for, as Python writes it."""

    code: str
    names: dict[str, str]


class _Match(NamedTuple):
    node: ast.expr
    names: _Names


def compile_pattern(before: str, after: str) -> CodePattern:
    """Return the change from one expression to another. A PatternError says what is wrong with it."""
    wanted = _parse_pattern(before)
    _parse_pattern(after)
    unknown = {name[2] for name in _NAME.finditer(after)} - {name[2] for name in _NAME.finditer(before)}
    if unknown:
        raise PatternError(f"${min(unknown)} stands for nothing in {before!r}")
    return CodePattern(wanted, after, frozenset(name[2] for name in _NAME.finditer(before)))


def change_code(
    pattern: CodePattern, code: str, values: Mapping[str, str], at: tuple[int, int] | None = None
) -> CodeChange | None:
    """Return lines of a program with the pattern's replacement, or None where it does not match in exactly one place or the result is no Python.

    `values` are those of the message. `at` are the offsets of the expression that failed: then that is what has to match, or the call of it.
    Lines that are nested too deep for Python to walk match nowhere.
    """
    try:
        return _changed(pattern, code, values, at)
    except RecursionError:
        return None


def _changed(
    pattern: CodePattern, code: str, values: Mapping[str, str], at: tuple[int, int] | None
) -> CodeChange | None:
    parsed = _parse_line(code) if len(code) <= _LONGEST else None
    if parsed is None:
        return None
    tree, source, offset = parsed
    matches = list(_matches(pattern.wanted, tree, values))
    if at is not None:
        failed = (at[0] + offset, at[1] + offset)
        matches = [match for match in matches if failed in _extents(match.node, source)]
    if len(matches) != 1:
        return None
    start, end = _span(matches[0].node, source)
    changed = source[:start] + _filled(pattern.replacement, matches[0].names, source) + source[end:]
    result = changed[offset : len(changed) - (len(source) - offset - len(code))]
    if result == code or not _is_sound(result):
        return None
    return CodeChange(result, {name: _text_of(value) for name, value in matches[0].names.items()})


def _extents(node: ast.expr, source: str) -> Iterator[tuple[int, int]]:
    """Yield where an expression is and, because an attribute may be missing before it is called, where the function of a call is."""
    yield _span(node, source)
    if isinstance(node, ast.Call):
        yield _span(node.func, source)


def _parse_pattern(text: str) -> ast.expr:
    source = _NAME.sub(lambda name: f"*{_MANY}{name[2]}" if name[1] == "$$$" else f"{_ONE}{name[2]}", text)
    try:
        return ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise PatternError(f"{text!r} is no Python expression: {error.msg}") from None


def _parse_line(code: str) -> tuple[ast.AST, str, int] | None:
    """Return the tree of a line, the source that was parsed and the offset of the line in it. The head of a block gets a body."""
    for before, after in _SURROUNDINGS:
        source = f"{before}{code}{after}"
        try:
            return ast.parse(source), source, len(before)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _is_sound(code: str) -> bool:
    """Tell whether a line is Python and gives no call a keyword twice, which only a compiler would refuse."""
    parsed = _parse_line(code)
    calls = [node for node in ast.walk(parsed[0]) if isinstance(node, ast.Call)] if parsed else []
    names = [[keyword.arg for keyword in call.keywords if keyword.arg] for call in calls]
    return parsed is not None and all(len(set(given)) == len(given) for given in names)


def _matches(wanted: ast.expr, tree: ast.AST, values: Mapping[str, str]) -> Iterator[_Match]:
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            names: _Names = {name: value for name, value in values.items() if name.islower()}
            if _is_like(wanted, node, names):
                yield _Match(node, names)


def _is_like(wanted: object, node: object, names: _Names) -> bool:
    """Tell whether a part of the tree matches a part of the pattern, and bind the pattern's names."""
    if isinstance(wanted, ast.Name) and wanted.id.startswith(_ONE):
        return (
            isinstance(node, ast.expr)
            and not isinstance(node, ast.Starred)
            and _bind(wanted.id.removeprefix(_ONE), [node], names)
        )
    if isinstance(wanted, str) and wanted.startswith(_ONE):
        return isinstance(node, str) and _bind(wanted.removeprefix(_ONE), node, names)
    if isinstance(wanted, ast.Call):
        return (
            isinstance(node, ast.Call)
            and _is_like(wanted.func, node.func, names)
            and _has_arguments(wanted, node, names)
        )
    if isinstance(wanted, ast.AST):
        return type(wanted) is type(node) and all(
            _is_like(value, getattr(node, field, None), names)
            for field, value in ast.iter_fields(wanted)
            if field not in _IGNORED
        )
    if isinstance(wanted, list):
        return (
            isinstance(node, list)
            and len(wanted) == len(node)
            and all(_is_like(part, child, names) for part, child in zip(wanted, node, strict=True))
        )
    return type(wanted) is type(node) and wanted == node


def _has_arguments(wanted: ast.Call, node: ast.Call, names: _Names) -> bool:
    """Match the arguments of a call: in order, keywords by name. `$$$NAME` takes what is left over."""
    many = [arg.value.id for arg in wanted.args if isinstance(arg, ast.Starred) and isinstance(arg.value, ast.Name)]
    fixed = wanted.args[: len(wanted.args) - len(many)]
    rest: list[ast.AST] = [*node.args[len(fixed) :]]
    if len(node.args) < len(fixed) or not all(map(_is_like, fixed, node.args, [names] * len(fixed))):
        return False
    given = {keyword.arg: keyword for keyword in node.keywords if keyword.arg}
    for keyword in wanted.keywords:
        if keyword.arg not in given or not _is_like(keyword.value, given.pop(keyword.arg).value, names):
            return False
    rest += [keyword for keyword in node.keywords if keyword.arg is None or keyword.arg in given]
    if not many:
        return not rest
    return _bind(many[0].removeprefix(_MANY), rest, names)


def _bind(name: str, value: list[ast.AST] | str, names: _Names) -> bool:
    if name not in names:
        names[name] = value
        return True
    return _text_of(names[name]) == _text_of(value)


def _text_of(value: list[ast.AST] | str) -> str:
    return value if isinstance(value, str) else ", ".join(map(ast.unparse, value))


def _filled(replacement: str, names: _Names, source: str) -> str:
    """Return the replacement with the reader's own source for its names. A comma beside arguments that are none is left out."""

    def own(name: re.Match[str]) -> str:
        value = names[name[2]]
        if isinstance(value, str):
            return value
        texts = [source[slice(*_span(node, source))] for node in value]
        if name[1] == "$$$" or not texts:
            return ", ".join(texts)
        before, after = replacement[: name.start()].rstrip()[-1:], replacement[name.end() :].lstrip()[:1]
        is_argument = before in ("(", ",", "[", "=") and after in (")", ",", "]")
        return texts[0] if is_argument or isinstance(value[0], _ATOMS) else f"({texts[0]})"

    for name in _NAME.finditer(replacement):
        if name[1] == "$$$" and not names[name[2]]:
            replacement = re.sub(
                rf"{re.escape(name[0])}(?!\w),\s*|(?:,\s*)?{re.escape(name[0])}(?!\w)", "", replacement
            )
    return _NAME.sub(own, replacement)


def _span(node: ast.AST, source: str) -> tuple[int, int]:
    """Return the offsets of a node's source in characters; parentheses around it are not part of it."""
    lines = source.splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
    start = sum(map(len, lines[:first])) + len(lines[first].encode()[: node.col_offset].decode())  # type: ignore[attr-defined]
    end = sum(map(len, lines[:last])) + len(lines[last].encode()[: node.end_col_offset].decode())  # type: ignore[attr-defined]
    return start, end
