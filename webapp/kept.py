"""Pages that stay the same until an entry changes: rendered once per language, then served from memory with an ETag.

What is kept is bounded: only addresses that exist are rendered, and a new state of the entries starts empty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from flask import Response, current_app, request
from markupsafe import Markup

from webapp.asking import current_knowledge
from webapp.front import keep
from webapp.language import HTML_LANG, chosen, current
from webapp.stored import send, store

__all__ = ["kept", "kept_part"]

P = ParamSpec("P")


def kept(render: Callable[P, str]) -> Callable[P, Response]:
    """Turn a function that renders a page into a view that keeps it."""

    @wraps(render)
    def view(*args: P.args, **kwargs: P.kwargs) -> Response:
        key = (request.path, current(), chosen(request) or "")
        held = _held()
        if key not in held:
            held[key] = store(render(*args, **kwargs).encode(), _headers())
        keep()
        return send(held[key])

    return view


def kept_part(name: str, render: Callable[[], str]) -> Markup:
    """Return a part of a page in the current language, rendered once; `name` says what it is and of which entry."""
    key = (name, current(), chosen(request) or "")
    held = _held()
    if key not in held:
        held[key] = Markup(render())  # noqa: S704 - a rendered template
    part: Markup = held[key]
    return part


def _held() -> dict[tuple[str, ...], Any]:
    """Return what the application has rendered from this state of the entries."""
    stamp = current_knowledge().stamp
    pages = current_app.extensions.get("kb-pages")
    if pages is None or pages[0] != stamp:
        pages = current_app.extensions["kb-pages"] = stamp, {}
    held: dict[tuple[str, ...], Any] = pages[1]
    return held


def _headers() -> list[tuple[str, str]]:
    return [
        ("Content-Type", "text/html; charset=utf-8"),
        ("Cache-Control", "public, no-cache"),
        ("Content-Language", HTML_LANG[current()]),
        ("Vary", "Accept-Language, Accept-Encoding"),
    ]
