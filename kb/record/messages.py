"""The messages that Python code raises, asserts, warns with or logs, as templates in kb's own syntax."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kb.record.message_text import SLOT, text_of
from kb.record.syntax import dotted_name
from kb.startup.named_tuple import NamedTuple
from kb.templates.template import MAX_OPEN_PLACEHOLDERS, TemplateError, compile_template

__all__ = ["Message", "messages_in"]

_WARNING_CALLS = re.compile(
    r"(?:^|[._])(?:warn|warning|warn_once|warning_once|warning_advice|rank_zero_warn|rank_zero_deprecation|deprecate|warn_explicit)$"
)
_LOG_CALLS = re.compile(r"^_?(?:logger|logging|log|LOGGER|LOG|trace_log)\.(?:error|critical|exception|warning_once)$")
_CHECKS = {"torch._check": "RuntimeError", "torch._check_with": "", "torch._check_index": "IndexError", "torch._check_value": "ValueError",
           "torch._check_type": "TypeError", "torch._check_not_implemented": "NotImplementedError", "torch._assert": "AssertionError"}  # fmt: skip
_IN_WORD = re.compile(r"[\w.]*\x00[\w.]*")
MAX_LENGTH, MAX_CONDITION = 400, 120


class Message(NamedTuple):
    """A text that a function prints: the template, the exception or warning, the function within its module, the condition, the line.

    `type` is the exception's or the warning's name, `log` for what a logger prints.
    """

    template: str
    type: str
    function: str
    condition: str
    line: int


def messages_in(tree: ast.Module) -> list[Message]:
    """Return the messages of a parsed file, in the order of its lines."""
    return list(dict.fromkeys(_Walker().walk(tree.body, "", _Guard(), {})))


class _Guard(NamedTuple):
    """The condition under which a statement runs: the code of `test` between `before` and `after`."""

    before: str = ""
    test: ast.AST | None = None
    after: str = ""

    def __str__(self) -> str:
        return (self.before + _code(self.test) + self.after)[:MAX_CONDITION] if self.test or self.before else ""


class _Walker:
    """Walks functions with the condition that guards each statement and the texts that local variables hold."""

    def walk(self, body: list[ast.stmt], function: str, guard: _Guard, texts: dict[str, ast.expr]) -> Iterator[Message]:
        for statement in body:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    name = f"{function}.{statement.name}" if function else statement.name
                    yield from self.walk(statement.body, name, _Guard(), dict(texts))
                case ast.If(test=test):
                    yield from self.walk(statement.body, function, _Guard("", test), texts)
                    is_chain = len(statement.orelse) == 1 and isinstance(statement.orelse[0], ast.If)
                    otherwise = guard if is_chain else _Guard("not (", test, ")")
                    yield from self.walk(statement.orelse, function, otherwise, texts)
                case ast.For() | ast.AsyncFor() | ast.While() | ast.With() | ast.AsyncWith():
                    yield from self.walk([*statement.body, *getattr(statement, "orelse", [])], function, guard, texts)
                case ast.Try():
                    inner = [*statement.body, *statement.orelse, *statement.finalbody]
                    yield from self.walk(inner, function, guard, texts)
                    for handler in statement.handlers:
                        yield from self.walk(handler.body, function, _Guard("except ", handler.type), texts)
                case ast.Match():
                    for case in statement.cases:
                        yield from self.walk(case.body, function, _Guard("case ", case.pattern), texts)
                case _:
                    yield from self._simple(statement, function, guard, texts)

    def _simple(
        self, statement: ast.stmt, function: str, guard: _Guard, texts: dict[str, ast.expr]
    ) -> Iterator[Message]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                texts[name] = value
            case ast.Raise(exc=ast.Call() as call):
                arguments = [
                    *call.args[:2],
                    *(
                        keyword.value
                        for keyword in call.keywords
                        if keyword.arg in ("msg", "message", "gb_type", "explanation")
                    ),
                ]
                yield from self._messages(
                    arguments, dotted_name(call.func).rpartition(".")[2], function, guard, call.lineno, texts
                )
            case ast.Assert(test=test, msg=message) if message is not None:
                yield from self._messages(
                    [message], "AssertionError", function, _Guard("not (", test, ")"), statement.lineno, texts
                )
            case ast.Expr(value=ast.Call() as call) | ast.Return(value=ast.Call() as call):
                yield from self._call(call, function, guard, texts)

    def _call(self, call: ast.Call, function: str, guard: _Guard, texts: dict[str, ast.expr]) -> Iterator[Message]:
        name = dotted_name(call.func)
        if _LOG_CALLS.search(name):
            yield from self._messages(call.args[:1], "log", function, guard, call.lineno, texts)
        elif name in _CHECKS and len(call.args) > 1:
            tested = _Guard("not (", call.args[-2], ")")
            yield from self._messages([call.args[-1]], _CHECKS[name], function, tested, call.lineno, texts)
        elif _WARNING_CALLS.search(name):
            is_log = name.startswith(("logger", "logging", "log."))
            categories = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "category")]
            category = next(
                (
                    last
                    for last in (dotted_name(part).rpartition(".")[2] for part in categories)
                    if last.endswith("Warning")
                ),
                "",
            )
            arguments = call.args[:3] if name.endswith("deprecate") else call.args[:1]
            type_ = "log" if is_log else category or "UserWarning"
            yield from self._messages(arguments, type_, function, guard, call.lineno, texts)

    @staticmethod
    def _messages(
        arguments: list[ast.expr], type_: str, function: str, guard: _Guard, line: int, texts: dict[str, ast.expr]
    ) -> Iterator[Message]:
        for argument in arguments:
            text = text_of(argument, texts)
            template = _template(text) if text else ""
            if template:
                yield Message(template, type_, function, str(guard), line)
                return


def _template(text: str) -> str:
    """Return the text as a template, or the empty string if it has too few words of its own to be recognised."""
    text = " ".join(text.split())[:MAX_LENGTH].replace("{", "(").replace("}", ")")
    while SLOT * 2 in text:
        text = text.replace(SLOT * 2, SLOT)
    text = SLOT.join(text.split(SLOT)[: MAX_OPEN_PLACEHOLDERS + 1]).rstrip()
    template = _IN_WORD.sub(_placeholder, text)
    try:
        compiled = compile_template("x " + template)
    except TemplateError:
        return ""
    words = sum(isinstance(piece, str) and piece.isalpha() for piece in compiled.pieces) - 1
    return template if words >= (2 if SLOT not in text else 3) else ""


def _placeholder(match: re.Match[str]) -> str:
    """Return `{name}` where the text is glued to the letters around it, else `{text}`; only one part of a word can vary."""
    word = match.group()
    if word == SLOT:
        return "{text}"
    if word.count(SLOT) > 1 or word.strip(".") == SLOT:
        return (
            word.strip(SLOT + ".").join(("", "")) and "{name}" if word.count(SLOT) > 1 else word.replace(SLOT, "{text}")
        )
    return word.replace(SLOT, "{name}")


def _code(node: ast.AST | None) -> str:
    if node is None:
        return ""
    try:
        return ast.unparse(node)[: MAX_CONDITION + 1]
    except (ValueError, RecursionError):
        return ""
