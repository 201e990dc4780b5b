"""What the source itself announces: that a name is deprecated, or that it is there only to say that it was removed."""

from __future__ import annotations

import ast
import inspect
import re

from kb.record.message_text import SLOT, text_of
from kb.record.syntax import dotted_name, statements_of

__all__ = ["deprecation_notice", "docstring_notice", "removal_notice"]

_MAX_NOTICE = 200
_WORD = re.compile(r"deprecat", re.IGNORECASE)
_ABOUT_ARGUMENTS = re.compile(r"arg|param|positional|method|nonkeyword|default", re.IGNORECASE)
_WARNS = re.compile(r"warn|deprecat")
_REMOVAL = re.compile(
    r"remov|deprecat|no longer|discontinu|renamed|replaced|moved to|not supported any|has been|instead", re.IGNORECASE
)
_DIRECTIVE = re.compile(
    r"^\.\. deprecated::\s*(?P<text>(?:v?[\d.]+\s+)?(?:``(?P<subject>\w+))?[^\n]*(?:\n[ \t]+\S[^\n]*){0,3})",
    re.MULTILINE,
)
"""At the margin, because an indented one is about a parameter, and about the name itself."""
_WARNING = re.compile(
    r"\.\. (?:warning|note|attention)::\s+"
    r"(?P<text>(?:[Tt]his (?:function|method|class|module|API)|(?::\w+:)?`{0,2}~?[\w.]+(?:\(\))?`{0,2}) (?:is|was|has been|will be) (?:now )?deprecated[^.]*"
    r"(?:\.\w[^.]*)*)"
)
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def deprecation_notice(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """Return what the decorators, the docstring or the first warning of a definition say about its deprecation, or the empty string."""
    for decorator in node.decorator_list:
        name = dotted_name(decorator.func) if isinstance(decorator, ast.Call) else ""
        if _WORD.search(name) and not _ABOUT_ARGUMENTS.search(name):
            return _clip(" ".join(_texts(decorator))) or "deprecated"
    return docstring_notice(ast.get_docstring(node, clean=False) or "", node.name) or _first_warning(node)


def docstring_notice(docstring: str, name: str) -> str:
    """Return what the docstring of `name` says about its deprecation, or the empty string."""
    if "eprecat" not in docstring:
        return ""
    docstring = inspect.cleandoc(docstring)
    if (directive := _DIRECTIVE.search(docstring)) and directive["subject"] in (None, name):
        return _clip(directive["text"]) or "deprecated"
    first = docstring.strip().partition("\n\n")[0]
    if _WORD.search(first[:200]) and re.match(r"[\W_]*(?:this|deprecat|\[deprecat|\.\. warning)", first, re.IGNORECASE):
        return _clip(first)
    for warning in _WARNING.finditer(docstring):
        subject = warning["text"].partition(" ")[0]
        if subject.lower() == "this" or re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", subject):
            return _clip(warning["text"])
    return ""


def removal_notice(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """Return what a function, or the `__init__` of a class, says when all that it does is to raise that it was removed; else the empty string."""
    if isinstance(node, ast.ClassDef):
        constructors = [inner for inner in node.body if isinstance(inner, _FUNCTIONS) and inner.name in _CONSTRUCTORS]
        return removal_notice(constructors[0]) if constructors else ""
    last = node.body[-1]
    if not isinstance(last, ast.Raise) or not isinstance(last.exc, ast.Call):
        return ""
    leaves = (ast.Return, ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match)
    if any(isinstance(statement, leaves) for statement in statements_of(node.body)):
        return ""
    texts: dict[str, ast.expr] = {
        statement.targets[0].id: statement.value
        for statement in node.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    text = next(filter(None, (text_of(argument, texts) for argument in last.exc.args)), "").replace(SLOT, "…")
    return _clip(text) if _REMOVAL.search(text) else ""


_CONSTRUCTORS = ("__init__", "__new__")


def _first_warning(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """Return the text of an unconditional deprecation warning at the beginning of a function, or of a class's `__init__`."""
    body = node.body
    if isinstance(node, ast.ClassDef):
        body = next(
            (inner.body for inner in node.body if isinstance(inner, ast.FunctionDef) and inner.name == "__init__"), []
        )
    for statement in body[:4]:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if _WARNS.search(dotted_name(call.func)) and _WORD.search(text := " ".join(_texts(call))):
                return _clip(text)
    return ""


def _texts(node: ast.AST) -> list[str]:
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def _clip(text: str) -> str:
    return " ".join(text.split())[:_MAX_NOTICE]
