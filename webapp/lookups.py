"""Look up a reader's text, for the page and the API alike: length limit, rate limit, metrics, and the count of what has no answer."""

from __future__ import annotations

import time

from flask import abort, request

from kb.text.languages import Lang
from webapp import instrumentation
from webapp.feedback import anonymize
from webapp.services import services
from webapp.settings import MAX_TEXT_BYTES
from webapp.snapshot import Answer, Snapshot

__all__ = ["look_up"]


def look_up(text: str, *, lang: Lang | None = None, limit: int = 5) -> Answer:
    """Return the answer to a pasted text.

    Ends the request with 413 when the text is longer than `MAX_TEXT_BYTES`, with 429 when this client has asked too often.
    """
    if len(text) > MAX_TEXT_BYTES or len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        abort(413)
    services().limiter.check("RATE", request.remote_addr or "")
    snapshot = services().snapshots.current()
    started = time.perf_counter()
    answer = snapshot.lookup(text, lang=lang, limit=limit)
    seconds = time.perf_counter() - started
    confidence = answer.matches[0].confidence if answer.matches else "none"
    services().metrics.count_lookup(confidence, answer.lang, seconds)
    instrumentation.annotate(confidence=confidence)
    if not answer.answered:
        _count_miss(answer, snapshot)
    return answer


def _count_miss(answer: Answer, snapshot: Snapshot) -> None:
    """Count the first error of an answer that has none, unless another library raised it."""
    feedback = services().feedback
    if feedback is None or not answer.errors or answer.is_foreign:
        return
    error = answer.errors[0]
    if message := anonymize(error.type, error.message, snapshot.public_words):
        feedback.count_miss(message)
