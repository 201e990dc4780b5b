"""Signatures as short strings: `input,dim=,*,out=,**kwargs`. A `|` separates overloads; a `=` marks a parameter with a default."""

from __future__ import annotations

import ast

__all__ = ["class_signature", "signature_of", "union_of_overloads"]

_MAX_OVERLOADS = 6


def signature_of(node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool = False) -> str:
    """Return the signature of a function; that of a method is without `self` or `cls`."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [False] * (len(positional) - len(arguments.defaults)) + [True] * len(arguments.defaults)
    parts = [argument.arg + "=" * default for argument, default in zip(positional, defaults, strict=True)]
    if arguments.posonlyargs:
        parts.insert(len(arguments.posonlyargs), "/")
    static = any(isinstance(name, ast.Name) and name.id == "staticmethod" for name in node.decorator_list)
    if method and not static and parts:
        del parts[0]
        if parts[:1] == ["/"]:
            del parts[0]
    renamed = [f"{name}=" for name in _old_names(node) if name not in {part.rstrip("=") for part in parts}]
    if arguments.vararg:
        parts.append("*" + arguments.vararg.arg)
    elif arguments.kwonlyargs or renamed:
        parts.append("*")
    parts += [
        argument.arg + "=" * (default is not None)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    parts += renamed
    if arguments.kwarg:
        parts.append("**" + arguments.kwarg.arg)
    return ",".join(parts) or "()"


def _old_names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the former names of parameters that a decorator still accepts, such as `deprecate_kwarg("tokenizer", …)` of transformers."""
    calls = [decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
    firsts = [call.args[0] for call in calls if call.args and ast.unparse(call.func).endswith("deprecate_kwarg")]
    return [first.value for first in firsts if isinstance(first, ast.Constant) and isinstance(first.value, str)]


def class_signature(node: ast.ClassDef) -> str:
    """Return the signature of `__init__`, or that of the fields of a data class; empty where the class inherits it."""
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            return signature_of(statement, method=True)
    decorated = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    if not decorated and not any("NamedTuple" in ast.unparse(base) for base in node.bases):
        return ""
    fields = [
        statement.target.id + "=" * (statement.value is not None)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    ]
    inherits = ["+"] if node.bases and decorated else []
    return ",".join([*inherits, *fields]) or "()"


def union_of_overloads(first: str, second: str) -> str:
    """Return one string for the overloads of a function, each once, as many as are worth keeping."""
    overloads = list(dict.fromkeys([*first.split("|"), *second.split("|")]))
    return "|".join(overloads[:_MAX_OVERLOADS])
