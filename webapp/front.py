"""Answers that need no work, given in front of Flask: what it takes to route a request costs more than to answer it.

Two kinds are held, each exactly as it was sent, headers included: pages that stay the same until an entry changes, marked with `keep`, and, for
a moment, answers to what was just asked, marked with `keep_for_a_moment`. Anything unusual in a request passes through.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from flask import Flask, Response, g, request

from webapp import limiting, logs, metrics
from webapp.knowledge import Library
from webapp.language import accepted
from webapp.recent import Recent

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = ["init_app", "keep", "keep_for_a_moment"]

_QUERIES = ("", "lang=en", "lang=zh")
_NOT_WITHOUT_BODY = ("content-length", "content-type", "content-encoding")
_LONGEST_ASKED = 64 << 10
"""Bytes of a question whose answer is held: longer ones are logs, which hardly come twice."""
_ASKED = "kb.asked"
"""Where the environment of a request says under which name its answer may be held."""
_HELD = "kb.held"
"""Where it has the pages that were held when it came: what entries that have changed since said is not held as what they say now."""


class _Page(NamedTuple):
    """An answer as it is sent: its route, the page's language, ETag, headers with and without a body, body, and what is counted of a look-up."""

    route: str
    lang: str
    etag: str
    headers: list[tuple[str, str]]
    headers_unchanged: list[tuple[str, str]]
    body: bytes
    lookup: tuple[str, str] | None


_Key = tuple[str, str, str, str, bool]


class _Front:
    """The WSGI application that answers from what it holds, and asks the one behind it for the rest."""

    def __init__(self, app: Flask) -> None:
        self._behind: Callable[..., Iterable[bytes]] = app.wsgi_app
        self._extensions = app.extensions
        self._pages: dict[_Key, _Page] = {}
        self._recent: Recent[_Page] = Recent(app.config["RECENT"])
        self._stamp = ""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started = time.perf_counter()
        page = self._find(environ)
        if page is None:
            return self._behind(environ, start_response)
        if page.etag and page.etag in environ.get("HTTP_IF_NONE_MATCH", ""):
            status, headers, body = HTTPStatus.NOT_MODIFIED, page.headers_unchanged, b""
        else:
            status, headers, body = HTTPStatus.OK, page.headers, page.body
        seconds = time.perf_counter() - started
        numbers = self._extensions["kb-metrics"]
        metrics.count_request(numbers, page.route, environ["REQUEST_METHOD"], status, seconds)
        more = {"lang": page.lang} if page.lang else {}
        if page.lookup:
            metrics.count_lookup(numbers, *page.lookup, seconds)
            more["confidence"] = page.lookup[0]
        logs.write(environ["REQUEST_METHOD"], page.route, status, seconds, **more)
        start_response("200 OK" if status is HTTPStatus.OK else "304 NOT MODIFIED", list(headers))
        return [body]

    def remember(self, response: Response) -> Response:
        """Hold an answer that the application marked, as it is about to be sent."""
        asked: bytes = request.environ.get(_ASKED, b"")
        lasting = g.get("keep") and request.method == "GET" and request.environ.get("QUERY_STRING", "") in _QUERIES
        wanted = response.status_code == HTTPStatus.OK and (lasting or (asked and g.get("keep_for_a_moment")))
        held: dict[_Key, _Page] = request.environ[_HELD]
        if wanted and held is self._held():
            headers = response.get_wsgi_headers(request.environ).to_wsgi_list()
            unchanged = [(name, value) for name, value in headers if name.lower() not in _NOT_WITHOUT_BODY]
            etag, body = response.headers.get("ETag", ""), response.get_data()
            route = request.url_rule.rule if request.url_rule else ""
            page = _Page(route, g.get("lang", ""), etag, headers, unchanged, body, g.get("lookup"))
            if lasting:
                held[_key(request.environ)] = page
            else:
                self._recent.put(asked, page)
        return response

    def _find(self, environ: WSGIEnvironment) -> _Page | None:
        """Return what is held for a request; for a question that is new, name it, so that its answer can be."""
        held = environ[_HELD] = self._held()
        page = held.get(_key(environ)) if environ["REQUEST_METHOD"] == "GET" else None
        if page is not None or not self._recent.seconds:
            return page
        asked = _asked(environ)
        if asked is None:
            return None
        name = environ[_ASKED] = self._recent.hash(repr(_key(environ)).encode(), *asked)
        page = self._recent.get(name)
        if page and not limiting.allows(self._extensions["kb-limits"], "RATE", environ.get("REMOTE_ADDR", "")):
            return None  # the application says so
        return page

    def _held(self) -> dict[_Key, _Page]:
        library: Library = self._extensions["kb"]
        stamp = library.current().stamp
        if stamp != self._stamp:
            self._recent.clear()
            self._stamp, self._pages = stamp, {}
        return self._pages


def init_app(app: Flask) -> None:
    """Put the front before the application; must come before all that hears of answers, so that it hears last."""
    front = _Front(app)
    app.after_request(front.remember)
    app.wsgi_app = front  # type: ignore[method-assign]


def keep() -> None:
    """Let the front hold the answer to this request. Only for addresses that exist, so that what is held stays bounded."""
    g.keep = True


def keep_for_a_moment() -> None:
    """Let the front hold the answer to this question for as long as the operator allows."""
    g.keep_for_a_moment = True


def _key(environ: dict[str, Any]) -> _Key:
    """Return all that decides how a page looks: a query that is none of ours is part of it and matches nothing that is held."""
    return (
        environ["PATH_INFO"],
        environ.get("QUERY_STRING", ""),
        environ["wsgi.url_scheme"],
        accepted(environ.get("HTTP_ACCEPT_LANGUAGE", "")),
        "gzip" in environ.get("HTTP_ACCEPT_ENCODING", ""),
    )


def _asked(environ: dict[str, Any]) -> tuple[bytes, ...] | None:
    """Return what a request asks besides its key, or None where it is no question that can be held. The body can still be read afterwards."""
    method = environ["REQUEST_METHOD"]
    if method == "GET":
        return (b"GET",) if environ.get("QUERY_STRING") else None
    length = environ.get("CONTENT_LENGTH") or ""
    if method != "POST" or not length.isdigit() or int(length) > _LONGEST_ASKED:
        return None
    body = environ["wsgi.input"].read(int(length))
    environ["wsgi.input"] = BytesIO(body)
    return b"POST", environ.get("CONTENT_TYPE", "").encode("latin-1"), body
