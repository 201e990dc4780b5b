"""Which messages of an entry a program printed."""

from __future__ import annotations

from functools import lru_cache

from kb.corpus.entry import Entry, Message
from kb.templates.entry_templates import entry_templates
from kb.templates.matcher import match
from kb.templates.occurrences import matches_beginning
from kb.templates.program_output import exceptions_in, warnings_in
from kb.templates.template import Template
from kb.text.lexer import Token, lex

__all__ = ["printed_messages", "printed_values"]

_MAX_MESSAGE = 8000
"""How much of a printed message is compared, in characters."""


def printed_messages(entry: Entry, output: str) -> list[Message]:
    """Return the entry's messages with which an exception or a warning in a program's output begins, in the order of the entry."""
    printed = exceptions_in(output) + warnings_in(output)
    return [
        message for message, template in entry_templates(entry) if any(_begins(template, *error) for error in printed)
    ]


def printed_values(entry: Entry, output: str) -> list[tuple[Message, dict[str, str]]]:
    """Return each of those messages whose values tell its cause, with the values, once for every exception or warning that begins with it."""
    printed = exceptions_in(output) + warnings_in(output)
    return [
        (message, matched[1])
        for message, template in entry_templates(entry)
        if message.causes_by_values
        for error in printed
        if _begins(template, *error) and (matched := match(template.pieces, _tokens(error[1][:_MAX_MESSAGE])))
    ]


def _begins(template: Template, type_: str, message: str) -> bool:
    """Return whether a printed exception or warning begins as the template says; type names count without their modules."""
    if template.type and template.type != type_.rpartition(".")[2]:
        return False
    return matches_beginning(template.pieces, _tokens(message[:_MAX_MESSAGE]))


@lru_cache(maxsize=4096)
def _tokens(message: str) -> tuple[Token, ...]:
    """Return the tokens of a printed message, which is compared with all messages of its entry, and stands in the records of most releases."""
    return tuple(lex(message))
