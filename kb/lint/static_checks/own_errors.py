"""Ways in which a repro could make, word or print an error itself, although the error has to come from the library."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kb.lint.static_checks.names import Program, Reference

__all__ = ["own_errors"]

RULE = "KB081"
_RAISES = frozenset("add_note set_exception throw warn_explicit with_traceback".split())
_RAISES_TEXT = ("_check", "_assert")
"""Beginnings of the library's own functions that raise what they are given: `torch._check(False, lambda: text)`."""
_TESTING = ("numpy.testing", "torch.testing")
_EXCEPTION = re.compile(
    r"(?:Error|Exception|Warning|ExceptionGroup)$|^(?:SystemExit|KeyboardInterrupt|GeneratorExit|StopIteration|StopAsyncIteration)$"
)


def own_errors(program: Program) -> Iterator[tuple[int, str, str]]:
    """Yield (line, rule, what) for each statement of a repro that could make the error itself."""
    for node in program.nodes:
        match node:
            case ast.Raise():
                yield node.lineno, RULE, "raises an exception itself; let the library raise it"
            case ast.ClassDef(bases=bases) if any(_EXCEPTION.search(_last_part(base)) for base in bases):
                yield node.lineno, RULE, "defines an exception; let the library raise its own"
            case ast.FunctionDef(name="__exit__" | "__aexit__"):
                yield node.lineno, RULE, "handles exceptions on their way in __exit__; let them pass"
            case ast.Call():
                yield from _calls(node)
    for reference in program.references:
        if reference.last in _RAISES or reference.last.startswith(_RAISES_TEXT):
            what = f"uses {reference.last}, which raises what it is given; let the library raise its own error"
            yield reference.line, RULE, what
        elif reference.name.startswith(_TESTING):
            yield (
                reference.line,
                RULE,
                f"uses {reference.name}, which words an error as it is told; let the library fail by itself",
            )
        elif reference.last in {"args", "__cause__", "__context__"} and reference.use == "store":
            yield (
                reference.line,
                RULE,
                f"replaces {reference.last} of an object; leave an exception as the library made it",
            )
        elif (
            reference.name.startswith("builtins.")
            and _EXCEPTION.search(reference.last)
            and _is_kept(reference, program)
        ):
            yield reference.line, RULE, f"keeps the class {reference.last}; only `except` and `isinstance` need it"


def _calls(call: ast.Call) -> Iterator[tuple[int, str, str]]:
    name = _last_part(call.func)
    keywords = {keyword.arg for keyword in call.keywords}
    if _EXCEPTION.search(name):
        yield call.lineno, RULE, f"makes a {name} itself; let the library raise it"
    if name == "print" and "file" in keywords:
        yield call.lineno, RULE, "prints to a file or stream; only the library's own output counts"
    if keywords & {"msg", "err_msg"}:
        yield call.lineno, RULE, "gives an error its text; let the library word it"


def _last_part(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_kept(reference: Reference, program: Program) -> bool:
    """Return whether an exception's class is used otherwise than to handle, raise or make one."""
    node, parent = reference.node, reference.parent
    if isinstance(parent, ast.Tuple):
        node, parent = parent, program.parents.get(parent, parent)
    if isinstance(parent, ast.ExceptHandler | ast.Raise) or (isinstance(parent, ast.Call) and parent.func is node):
        return False  # handling is fine, and the other two are reported for themselves
    if isinstance(parent, ast.Call) and node in parent.args:
        return _last_part(parent.func) not in {"isinstance", "issubclass"}
    return True
