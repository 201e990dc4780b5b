"""What an entry's program says: its syntax tree, within bounds that keep every later reader from running out of stack, and its imports."""

from __future__ import annotations

import ast
import sys
import threading
import warnings
from functools import lru_cache

__all__ = ["MAX_NESTING", "ProgramError", "foreign_imports", "imported_packages", "parse_program", "program_nodes"]

MAX_NESTING = 60
"""The deepest nesting of a syntax tree. Programs of entries reach 15, and `ast.unparse` fails at about 150."""

_SANDBOX_PACKAGES = frozenset(
    "torch numpy triton filelock fsspec jinja2 mpmath networkx setuptools sympy typing_extensions".split()
)
"""What can be imported in every sandbox besides the standard library: torch, numpy, and what torch itself requires."""

_warnings_lock = threading.Lock()
"""Held while warnings are ignored, because that is a setting of the whole process."""


class ProgramError(Exception):
    """The program is no Python, or nested too deeply. `line` counts from 1 within the program."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


def parse_program(source: str) -> ast.Module:
    """Return the syntax tree of a program, which is shared and must not be changed. Raises `ProgramError`."""
    tree = program_nodes(source)[0]
    assert isinstance(tree, ast.Module)
    return tree


@lru_cache(maxsize=4096)
def program_nodes(source: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a program's syntax tree in the order of `ast.walk`, the tree itself first. Raises `ProgramError`.

    They are kept, because most rules look at all of them, and walking a tree takes longer than a rule.
    """
    try:
        with _warnings_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they would be printed on whatever terminal kb runs in
            nodes = _nodes_within_bounds(ast.parse(source))
            compile(
                source, "<program>", "exec", dont_inherit=True
            )  # finds what the parser lets pass, such as a return outside a function
    except SyntaxError as error:
        raise ProgramError(error.lineno or 1, f"this is no Python ({error.msg}); mend the program") from None
    except ValueError as error:  # a NUL, or an integer of thousands of digits
        raise ProgramError(1, f"this is no Python ({error}); mend the program") from None
    except (RecursionError, MemoryError, OverflowError):
        raise ProgramError(1, "the program is nested too deeply; write it flat") from None
    return tuple(nodes)


def foreign_imports(source: str) -> list[tuple[int, str]]:
    """Return (line in the program, package) for each import of a package that the sandbox does not have.

    An import inside `try` is left out because the program expects it to fail, and so is a module whose name the program has in a text, because it
    writes that module itself. Raises `ProgramError`.
    """
    nodes = program_nodes(source)
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    tried = {id(child) for node in nodes if isinstance(node, ast.Try) for child in ast.walk(node)}
    imports = [
        (node.lineno, name.partition(".")[0])
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in tried
        for name in _imported(node)
    ]
    known = sys.stdlib_module_names | _SANDBOX_PACKAGES
    return [(line, name) for line, name in imports if name not in known and not any(name in text for text in texts)]


def imported_packages(source: str) -> frozenset[str]:
    """Return the packages that a program imports, without the standard library. Raises `ProgramError`."""
    imports = [node for node in program_nodes(source) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {name.partition(".")[0] for node in imports for name in _imported(node)}
    return frozenset(names - sys.stdlib_module_names)


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the full names of the modules that a statement imports; relative imports have none."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if node.module and not node.level else []


def _nodes_within_bounds(tree: ast.Module) -> list[ast.AST]:
    """Return the nodes of the tree level by level. Raises `ProgramError` at the first node that is nested too deeply."""
    nodes: list[ast.AST] = []
    level: list[ast.AST] = [tree]
    for _ in range(MAX_NESTING):
        nodes += level
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return nodes
    line = getattr(level[0], "lineno", 1)
    raise ProgramError(line, f"the program is nested more than {MAX_NESTING} deep here; write it flat")
