"""The messages of an entry as compiled templates."""

from __future__ import annotations

from functools import lru_cache

from kb.corpus.entry import Entry, Message
from kb.templates.template import Template, TemplateError, compile_template

__all__ = ["entry_templates"]


def entry_templates(entry: Entry) -> tuple[tuple[Message, Template], ...]:
    """Return the messages that can be compiled, each with its template; the others break KB012."""
    return _compile(entry.messages)


@lru_cache(maxsize=4096)
def _compile(messages: tuple[Message, ...]) -> tuple[tuple[Message, Template], ...]:
    templates = []
    for message in messages:
        try:
            templates.append((message, compile_template(message.text)))
        except TemplateError:
            continue
    return tuple(templates)
