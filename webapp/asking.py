"""From a request's text to an answer: the one way for the page and the API, with the limit on its length."""

from __future__ import annotations

import time

from flask import abort, current_app, g

from kb.answer import Answer
from kb.entry import Lang
from webapp import limiting, metrics, misses
from webapp.front import keep_for_a_moment
from webapp.knowledge import Knowledge, Library
from webapp.settings import MAX_TEXT_BYTES

__all__ = ["ask", "current_knowledge"]


def current_knowledge() -> Knowledge:
    """Return what the application knows now."""
    library: Library = current_app.extensions["kb"]
    return library.current()


def ask(text: str, *, lang: Lang | None = None, limit: int = 5) -> Answer:
    """Return the answer to a pasted text.

    Ends the request with 413 when it is longer than `MAX_TEXT_BYTES`, with 429 when this client has asked too often.
    """
    if len(text) > MAX_TEXT_BYTES or len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        abort(413)
    limiting.count_lookup()
    started = time.perf_counter()
    answer = current_knowledge().lookup(text, lang=lang, limit=limit)
    seconds = time.perf_counter() - started
    g.confidence = answer.matches[0].confidence if answer.matches else "none"
    g.lookup = g.confidence, answer.lang
    metrics.count_lookup(current_app.extensions["kb-metrics"], g.confidence, answer.lang, seconds)
    if answer.answered:
        keep_for_a_moment()
    elif current_app.config["MISSES"] and answer.errors:
        _count_miss(answer)
    return answer


def _count_miss(answer: Answer) -> None:
    """Count the first error of an answer that has none."""
    error = answer.errors[0]
    message = misses.normalize(error.type, error.message, current_knowledge().vocabulary)
    if message:
        misses.count_miss(current_app.config["MISSES"], message)
