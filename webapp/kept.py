"""Pages that stay the same until an entry changes: rendered once per language, then served from memory with an ETag."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from flask import Response, current_app, request

from webapp.asking import current_knowledge
from webapp.language import HTML_LANG, chosen, current

__all__ = ["kept"]

P = ParamSpec("P")


def _pages(stamp: str) -> dict[tuple[str, ...], tuple[bytes, str]]:
    """Return what the application has rendered from this state of the entries."""
    held = current_app.extensions.get("kb-pages")
    if held is None or held[0] != stamp:
        held = current_app.extensions["kb-pages"] = stamp, {}
    pages: dict[tuple[str, ...], tuple[bytes, str]] = held[1]
    return pages


def kept(render: Callable[P, str]) -> Callable[P, Response]:
    """Turn a function that renders a page into a view that keeps it.

    What is kept is bounded: only addresses that exist are rendered, and a new state of the entries starts empty.
    """

    @wraps(render)
    def view(*args: P.args, **kwargs: P.kwargs) -> Response:
        lang = current()
        pages = _pages(current_knowledge().stamp)
        key = (request.path, lang, chosen(request) or "")
        if key not in pages:
            body = render(*args, **kwargs).encode()
            pages[key] = body, hashlib.blake2b(body, digest_size=12).hexdigest()
        body, etag = pages[key]
        response = Response(body, mimetype="text/html")
        response.set_etag(etag)
        response.headers["Cache-Control"] = "public, no-cache"
        response.headers["Content-Language"] = HTML_LANG[lang]
        response.vary.add("Accept-Language")
        response.make_conditional(request)
        return response

    return view
