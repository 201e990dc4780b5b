"""Error responses: a page for people, problem+json (RFC 9457) for programs."""

from __future__ import annotations

import difflib
import logging
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, jsonify, render_template, request
from werkzeug.exceptions import HTTPException, InternalServerError

from webapp.logs import places
from webapp.services import current_snapshot
from webapp.settings import MAX_TEXT_BYTES

__all__ = ["init_app", "problem"]

log = logging.getLogger("webapp")
_DETAILS = {
    413: f"a text has at most {MAX_TEXT_BYTES} bytes of UTF-8: the last few hundred lines of a log are enough",
    429: "too many requests from this address: wait as long as Retry-After says",
    500: "a fault of this server, not of your request; what you sent was not stored",
}
_MAX_SUGGESTIONS = 5
_MAX_SLUG = 80
"""Characters of a slug for which similar ones are sought."""


def init_app(app: Flask) -> None:
    """Answer every error in the form that the client understands."""
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _server_error)


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error for programs, as problem+json."""
    response = jsonify(type="about:blank", title=HTTPStatus(status).phrase, status=status, detail=detail)
    response.status_code = status
    response.mimetype = "application/problem+json"
    response.headers.extend(headers or {})
    return response


def _http_error(error: HTTPException) -> Response | HTTPException:
    """Return the page or the problem for an error. Redirects and ready responses pass."""
    if error.code is None or error.code < HTTPStatus.BAD_REQUEST or error.response is not None:
        return error
    headers = {name: value for name, value in error.get_headers() if name in ("Allow", "Retry-After")}
    if request.path.startswith("/api/") and request.path.count("/") > 2:  # /api/torch.symeig is a page
        return problem(error.code, _DETAILS.get(error.code) or error.description or error.name, headers)
    page = render_template("error.html", code=error.code, name=error.name, **_suggestions(error.code))
    return Response(page, error.code, headers, mimetype="text/html")


def _server_error(error: Exception) -> Response | HTTPException:
    """Answer an unhandled exception with 500, and log it without its text, which may quote what was pasted."""
    log.error("%s", places(error))
    return _http_error(InternalServerError())


def _suggestions(status: int) -> dict[str, Any]:
    """Return what the page adds: for an unknown slug, entries with a similar one."""
    if status != HTTPStatus.NOT_FOUND or not request.path.startswith("/e/"):
        return {"similar": []}
    corpus = current_snapshot().corpus
    slug = request.path.removeprefix("/e/")[:_MAX_SLUG]
    slugs = difflib.get_close_matches(slug, list(corpus.entries), n=_MAX_SUGGESTIONS, cutoff=0.5)
    return {"similar": [corpus.entries[slug] for slug in slugs]}
