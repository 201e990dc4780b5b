"""The API for programs, version 1: look up, list and read entries, read the history of a name. Errors are problem+json; every origin may read the answers."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any, cast

from flask import Blueprint, Response, abort, jsonify, request, url_for

from kb.corpus.kinds import KINDS
from kb.record.name_errors import explain_missing_name
from kb.record.name_history import name_history
from kb.record.sentences import answer_sentences
from kb.text.languages import LANGUAGES, Lang
from webapp.errors import problem
from webapp.lookups import look_up
from webapp.name_view import name_document
from webapp.request import BoundedRequest
from webapp.serializers import answer_document, entry_document, entry_summary
from webapp.services import current_snapshot

__all__ = ["bp"]

bp = Blueprint("api", __name__, url_prefix="/api/v1")
_DEFAULT_MATCHES = 5
_MAX_MATCHES = 20
_MAX_QUERY = 2000
"""Characters of text in an address. Servers on the way cut or log longer ones."""


class _RequestError(ValueError):
    """A field of the request is missing or wrong. The text says what to send."""


@bp.errorhandler(_RequestError)
def _refuse(error: _RequestError) -> Response:
    return problem(422, str(error))


@bp.after_request
def _share(response: Response) -> Response:
    response.headers["Access-Control-Allow-Origin"] = "*"
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Methods"] = response.headers.get("Allow", "GET")
        response.headers["Access-Control-Allow-Headers"] = "Content-Type"
        response.headers["Access-Control-Max-Age"] = "86400"
    return response


@bp.route("/lookup", methods=["GET", "POST"])
def lookup() -> Response:
    """Answer a text: `?text=` for a short one, JSON `{"text": …}` or plain text in the body of a POST."""
    lang, asked = _lang(_query("lang")), _query("limit")
    limit = _DEFAULT_MATCHES if asked is None else _limit(asked)
    if request.method == "POST":
        body = _body()
        text, lang, limit = body.get("text"), _lang(body.get("lang", lang)), _limit(body.get("limit", limit))
    else:
        text = _query("text")
    if not isinstance(text, str) or not text:
        raise _RequestError("no text: send the error's text as `text`")
    if request.method == "GET" and len(text) > _MAX_QUERY:
        raise _RequestError(f"a text in the address has at most {_MAX_QUERY} characters: send it by POST")
    return jsonify(answer_document(current_snapshot(), look_up(text, lang=lang, limit=limit), text))


@bp.get("/openapi.json")
def openapi() -> Response:
    """Return this API's description in OpenAPI 3.1."""
    return _revalidated(jsonify(_description() | {"servers": [{"url": request.script_root or "/"}]}))


@bp.get("/entries")
def entries() -> Response:
    """List all entries, or those of a `topic`, `tag` or `kind`."""
    topic, tag, kind = map(_query, ("topic", "tag", "kind"))
    if kind is not None and kind not in KINDS:
        raise _RequestError(f"kind is one of {', '.join(KINDS)}")
    summaries = [
        entry_summary(entry)
        for entry in current_snapshot().corpus
        if (topic is None or entry.topic == topic)
        and (tag is None or tag in entry.tags)
        and (kind is None or entry.kind == kind)
    ]
    return _revalidated(jsonify({"entries": summaries}))


@bp.get("/entries/<slug>")
def entry(slug: str) -> Response:
    """Return one whole entry: prose in both languages as Markdown, its programs, and where they were verified."""
    snapshot = current_snapshot()
    entry = snapshot.corpus.get(slug)
    if entry is None:
        abort(404, f"no entry has that slug; {url_for('api.entries')} lists them")
    return _revalidated(jsonify(entry_document(snapshot, entry)))


@bp.get("/names/<name>")
def name(name: str) -> Response:
    """Return which releases of a package have a name, and its parameters."""
    history = name_history(name)
    if history is None:
        said = explain_missing_name(name)
        text = " ".join(answer_sentences(said, "en")) if said else "no release that kb has read has that name"
        abort(404, text)
    return _revalidated(jsonify(name_document(history)))


@cache
def _description() -> dict[str, Any]:
    description: dict[str, Any] = json.loads(resources.files("webapp").joinpath("openapi.json").read_text("utf-8"))
    return description


def _query(name: str) -> str | None:
    """Return a value from the address, or None where it is not given."""
    values = request.args.getlist(name)
    if len(values) > 1:
        raise _RequestError(f"{name} is given more than once in the address")
    return values[0] if values else None


def _body() -> dict[str, Any]:
    """Return the fields of a POST's body."""
    if request.mimetype == "text/plain":
        return {"text": request.get_data(as_text=False).decode("utf-8", "replace")}
    if not request.is_json:
        abort(415, "send JSON or text/plain")
    fields = cast(BoundedRequest, request).json_object()
    if fields is None:
        abort(400, 'the body is no plain JSON object; send {"text": "…"}')
    return fields


def _lang(value: object) -> Lang | None:
    if value is None:
        return None
    lang = next((lang for lang in LANGUAGES if lang == value), None)
    if lang is None:
        raise _RequestError(f"lang is one of {', '.join(LANGUAGES)}")
    return lang


def _limit(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:9])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_MATCHES:
        raise _RequestError(f"limit is a whole number from 1 to {_MAX_MATCHES}")
    return value


def _revalidated(response: Response) -> Response:
    response.cache_control.public = True
    response.cache_control.no_cache = True
    return response
