"""The API for programs, version 1: look up, list and read entries. Errors are problem+json; every answer may be read across origins."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request, url_for

from kb.entry import LANGUAGES, Entry, Lang
from webapp.asking import ask, current_knowledge
from webapp.errors import problem

__all__ = ["bp"]

bp = Blueprint("api", __name__, url_prefix="/api/v1")
_MATCHES = 5
_MOST_MATCHES = 20
_LONGEST_QUERY = 2000
"""Characters of text in an address; servers on the way cut or log longer ones."""
_KINDS = ("error", "warning", "silent")


class _RequestError(ValueError):
    """A request that does not say what it should; its text tells what to send."""


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
    lang, limit = _lang(_query("lang")), _limit(_query("limit") or _MATCHES)
    if request.method == "POST":
        body = _body()
        text, lang, limit = body.get("text"), _lang(body.get("lang", lang)), _limit(body.get("limit", limit))
    else:
        text = _query("text")
    if not isinstance(text, str) or not text:
        raise _RequestError("no text: send the error's text as `text`")
    if request.method == "GET" and len(text) > _LONGEST_QUERY:
        raise _RequestError(f"a text in the address has at most {_LONGEST_QUERY} characters: send it by POST")
    answer = ask(text, lang=lang, limit=limit)
    found = answer.to_dict()
    for match in found["matches"]:
        match["url"] = url_for("pages.entry", slug=match["id"])
    return jsonify(found)


@bp.get("/openapi.json")
def openapi() -> Response:
    """Return this API's description in OpenAPI 3.1."""
    return _lasting(Response(_description(), mimetype="application/json"))


@bp.get("/entries")
def entries() -> Response:
    """List entries, those of a `topic`, `tag` or `kind` where one is asked for."""
    topic, tag, kind = map(_query, ("topic", "tag", "kind"))
    if kind is not None and kind not in _KINDS:
        raise _RequestError(f"kind is one of {', '.join(_KINDS)}")
    found = [
        _summary(item)
        for item in current_knowledge().corpus
        if (topic is None or item.topic == topic)
        and (tag is None or tag in item.tags)
        and (kind is None or item.kind == kind)
    ]
    return _lasting(jsonify({"entries": found}))


@bp.get("/entries/<slug>")
def entry(slug: str) -> Response:
    """Return one entry whole: prose in both languages as Markdown, its programs, and what has been proven of them."""
    found = current_knowledge().corpus.get(slug)
    if found is None:
        abort(404, "no entry has that slug; /api/v1/entries lists them")
    return _lasting(jsonify(_summary(found) | _detail(found)))


@cache
def _description() -> bytes:
    return resources.files("webapp").joinpath("openapi.json").read_bytes()


def _query(name: str) -> str | None:
    """Return a value from the address, or None where it does not stand there."""
    values = request.args.getlist(name)
    if len(values) > 1:
        raise _RequestError(f"{name} stands in the address more than once")
    return values[0] if values else None


def _body() -> dict[str, Any]:
    """Return the fields of a POST's body."""
    if request.mimetype == "text/plain":
        return {"text": request.get_data(as_text=False).decode("utf-8", "replace")}
    if not request.is_json:
        abort(415, "send JSON or text/plain")
    data = request.get_json(silent=True)
    if not isinstance(data, dict):
        abort(400, 'the body is no JSON object; send {"text": "…"}')
    return data


def _lang(value: object) -> Lang | None:
    if value is None:
        return None
    found = next((lang for lang in LANGUAGES if lang == value), None)
    if found is None:
        raise _RequestError(f"lang is one of {', '.join(LANGUAGES)}")
    return found


def _limit(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:9])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_MATCHES:
        raise _RequestError(f"limit is a whole number from 1 to {_MOST_MATCHES}")
    return value


def _lasting(response: Response) -> Response:
    response.headers["Cache-Control"] = "public, no-cache"
    response.add_etag()
    response.make_conditional(request)
    return response


def _summary(item: Entry) -> dict[str, Any]:
    return {
        "id": item.id,
        "url": url_for("pages.entry", slug=item.id),
        "topic": item.topic,
        "kind": item.kind,
        "title": {lang: item.title[lang] for lang in LANGUAGES},
        "tags": list(item.tags),
        "apis": list(item.apis),
    }


def _detail(item: Entry) -> dict[str, Any]:
    ledgers = current_knowledge().ledgers
    return {
        "messages": [
            {"text": message.text, "torch": message.torch, "device": message.device} for message in item.messages
        ],
        "why": {lang: item.prose[lang].why for lang in LANGUAGES},
        "fix": {lang: item.prose[lang].fix for lang in LANGUAGES},
        "cases": [
            {
                "id": case.id,
                "device": case.device,
                "repro": case.repro.source,
                "fix": case.fix.source,
                "state": ledgers.state(case),
                "verified": [
                    {"torch": found.torch, "device": found.device, "gpu": found.gpu, "date": found.date}
                    for found in ledgers.records(case)
                ],
            }
            for case in item.cases
        ],
        "related": list(item.related),
        "sources": list(item.sources),
    }
