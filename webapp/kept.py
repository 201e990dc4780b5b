"""Pages that stay the same until an entry changes: rendered once per language, then served from memory with an ETag."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from flask import Response, request

from webapp.asking import current_knowledge
from webapp.language import HTML_LANG, chosen, current

__all__ = ["kept"]

P = ParamSpec("P")


def kept(render: Callable[P, str]) -> Callable[P, Response]:
    """Turn a function that renders a page into a view that keeps it.

    What is kept is bounded: only addresses that exist are rendered, and a new state of the entries starts empty.
    """

    @wraps(render)
    def view(*args: P.args, **kwargs: P.kwargs) -> Response:
        lang = current()
        pages = current_knowledge().pages
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
        return response.make_conditional(request)

    return view
