"""Answers to requests that cannot be answered: a page for people, problem+json (RFC 9457) for programs."""

from __future__ import annotations

import difflib
import logging
import traceback
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, jsonify, render_template, request
from werkzeug.exceptions import HTTPException, InternalServerError

from webapp.asking import current_knowledge
from webapp.settings import MAX_TEXT_BYTES

__all__ = ["init_app", "problem"]

log = logging.getLogger("webapp")
_DETAILS = {
    413: f"a text has at most {MAX_TEXT_BYTES} bytes of UTF-8: the last few hundred lines of a log are enough",
    429: "too many requests from this address: wait as long as Retry-After says",
    500: "a fault of this server, not of your request; what you sent was not stored",
}


def init_app(app: Flask) -> None:
    """Answer every error of the application in the form that the client understands."""
    app.register_error_handler(HTTPException, _answer)
    app.register_error_handler(Exception, _failed)


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error for programs, as problem+json."""
    response = jsonify(type="about:blank", title=HTTPStatus(status).phrase, status=status, detail=detail)
    response.status_code = status
    response.mimetype = "application/problem+json"
    response.headers.extend(headers or {})
    return response


def _answer(error: HTTPException) -> Response | HTTPException:
    """Return the page or the problem for an error; redirects and ready responses pass."""
    if error.code is None or error.code < HTTPStatus.BAD_REQUEST or error.response is not None:
        return error
    headers = {name: value for name, value in error.get_headers() if name in ("Allow", "Retry-After")}
    if request.path.startswith("/api/"):
        return problem(error.code, _DETAILS.get(error.code) or error.description or error.name, headers)
    page = render_template("error.html", code=error.code, name=error.name, **_help(error.code))
    return Response(page, error.code, headers, mimetype="text/html")


def _failed(error: Exception) -> Response | HTTPException:
    """Answer a fault of ours. What is logged names the kind of error and the places, never its text, which may quote what was pasted."""
    places = " < ".join(
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in reversed(traceback.extract_tb(error.__traceback__)[-6:])
    )
    log.error("%s at %s", type(error).__name__, places)
    return _answer(InternalServerError())


def _help(code: int) -> dict[str, Any]:
    """Return what a page for that status adds: for a missing entry, entries with a name like it."""
    if code != HTTPStatus.NOT_FOUND or not request.path.startswith("/e/"):
        return {"similar": []}
    corpus = current_knowledge().corpus
    names = difflib.get_close_matches(request.path.removeprefix("/e/")[:80], list(corpus.entries), n=5, cutoff=0.5)
    return {"similar": [corpus.entries[name] for name in names]}
