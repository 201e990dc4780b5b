"""Lines of a program that a reviewer has to read: nothing there breaks a rule, but no check of programs can say what it is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kb.lint.static_checks.names import Program, read_program

__all__ = ["review_notes"]

_OUTSIDE = frozenset(
    "concurrent ctypes gc importlib io multiprocessing os pickle queue resource shutil signal socket subprocess sys tarfile tempfile threading "
    "wave weakref zipfile".split()
)
"""Modules of the standard library that reach processes, files or the interpreter. The others only compute."""
_FILES = frozenset(
    "glob iterdir open read_bytes read_text rglob symlink_to touch unlink write_bytes write_text".split()
)
_LONG_TEXT, _LONG_BYTES, _LONG_LIST = 100, 40, 30
"""Characters, bytes and elements from which on a literal could hold something that a reader does not see."""


def review_notes(source: str) -> list[tuple[int, str]]:
    """Return (line of the program, what is there) for each line that needs a reviewer's eyes, sorted by line; one note for a line."""
    program = read_program(source)
    by_line: dict[int, list[str]] = {}
    for line, what in (*_calls(program), *_patches(program), *_literals(program), *_statements(program)):
        notes = by_line.setdefault(line, [])
        if what not in notes:
            notes.append(what)
    return [(line, ", ".join(notes)) for line, notes in sorted(by_line.items())]


def _calls(program: Program) -> Iterator[tuple[int, str]]:
    """Calls outside of torch and numpy, dynamic access to attributes, and files."""
    for reference in program.references:
        call = reference.parent
        if not (isinstance(call, ast.Call) and call.func is reference.node):
            continue
        root, _, name = reference.name.partition(".")
        if root in _OUTSIDE and name:
            yield reference.line, f"calls {reference.name}"
        elif root == "builtins" and name in {"getattr", "setattr", "hasattr", "delattr"}:
            yield reference.line, "reaches an attribute by its name in a text"
        elif {keyword.arg for keyword in call.keywords} & {"weights_only", "allow_pickle"}:
            yield reference.line, f"may load a pickle by {reference.last}"
        elif reference.last in _FILES:
            yield reference.line, f"uses a file or folder by {reference.last}"


def _patches(program: Program) -> Iterator[tuple[int, str]]:
    """Settings of modules, and names put into the interpreter's tables."""
    for reference in program.references:
        is_attribute = isinstance(reference.node, ast.Attribute | ast.Call) and not reference.name.startswith("?.")
        if reference.use == "store" and is_attribute:
            yield reference.line, f"sets {reference.name}"
        elif reference.name in {"sys.path", "sys.modules"}:
            yield reference.line, f"changes or reads {reference.name}"


def _literals(program: Program) -> Iterator[tuple[int, str]]:
    """Literals long enough to hide a text, a program or a file."""
    for node in program.nodes:
        match node:
            case ast.Constant(value=str() as text) if len(text) >= _LONG_TEXT:
                yield node.lineno, f"has a text of {len(text)} characters"
            case ast.Constant(value=bytes() as data) if len(data) >= _LONG_BYTES:
                yield node.lineno, f"has {len(data)} bytes"
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements) if (
                len(elements) >= _LONG_LIST
            ):
                yield node.lineno, f"has a literal of {len(elements)} elements"


def _statements(program: Program) -> Iterator[tuple[int, str]]:
    """Statements that can keep an error from being seen, and methods that Python calls by itself."""
    for node in program.nodes:
        match node:
            case ast.Try(handlers=[_, *_]) | ast.TryStar(handlers=[_, *_]):
                yield node.lineno, "handles exceptions"
            case ast.FunctionDef(name="__enter__" | "__exit__"):
                yield node.lineno, f"defines {node.name}"
            case ast.Raise():
                yield node.lineno, "raises an exception"
