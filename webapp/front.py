"""Pages that stay the same until an entry changes, answered in front of Flask: what it takes to route a request costs more than to answer it.

Only what the application marked with `keep` is held, exactly as it was sent, headers included; anything unusual in a request passes through.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from flask import Flask, Response, g, request

from webapp import logs, metrics
from webapp.knowledge import Library
from webapp.language import accepted

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = ["init_app", "keep"]

_QUERIES = ("", "lang=en", "lang=zh")
_NOT_WITHOUT_BODY = ("content-length", "content-type", "content-encoding")


class _Page(NamedTuple):
    """A page as it is sent: its route, language, ETag, headers with and without a body, and body."""

    route: str
    lang: str
    etag: str
    headers: list[tuple[str, str]]
    headers_unchanged: list[tuple[str, str]]
    body: bytes


_Key = tuple[str, str, str, str, bool]


class _Front:
    """The WSGI application that answers from what it holds, and asks the one behind it for the rest."""

    def __init__(self, app: Flask) -> None:
        self._behind: Callable[..., Iterable[bytes]] = app.wsgi_app
        self._extensions = app.extensions
        self._pages: dict[_Key, _Page] = {}
        self._stamp = ""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started = time.perf_counter()
        page = self._held().get(_key(environ)) if environ["REQUEST_METHOD"] == "GET" else None
        if page is None:
            return self._behind(environ, start_response)
        if page.etag in environ.get("HTTP_IF_NONE_MATCH", ""):
            status, headers, body = HTTPStatus.NOT_MODIFIED, page.headers_unchanged, b""
        else:
            status, headers, body = HTTPStatus.OK, page.headers, page.body
        seconds = time.perf_counter() - started
        metrics.count_request(self._extensions["kb-metrics"], page.route, "GET", status, seconds)
        logs.write("GET", page.route, status, seconds, lang=page.lang)
        start_response("200 OK" if body else "304 NOT MODIFIED", list(headers))
        return [body]

    def remember(self, response: Response) -> Response:
        """Hold a page that the application marked, as it is about to be sent."""
        if g.get("keep") and request.method == "GET" and response.status_code == HTTPStatus.OK:
            headers = response.get_wsgi_headers(request.environ).to_wsgi_list()
            unchanged = [(name, value) for name, value in headers if name.lower() not in _NOT_WITHOUT_BODY]
            page = _Page(g.keep, g.lang, response.headers["ETag"], headers, unchanged, response.get_data())
            if request.environ.get("QUERY_STRING", "") in _QUERIES:
                self._held()[_key(request.environ)] = page
        return response

    def _held(self) -> dict[_Key, _Page]:
        library: Library = self._extensions["kb"]
        stamp = library.current().stamp
        if stamp != self._stamp:
            self._stamp, self._pages = stamp, {}
        return self._pages


def init_app(app: Flask) -> None:
    """Put the front before the application; must come before all that hears of answers, so that it hears last."""
    front = _Front(app)
    app.after_request(front.remember)
    app.wsgi_app = front  # type: ignore[method-assign]


def keep() -> None:
    """Let the front hold the answer to this request. Only for addresses that exist, so that what is held stays bounded."""
    g.keep = request.url_rule.rule if request.url_rule else ""


def _key(environ: dict[str, Any]) -> _Key:
    """Return all that decides how a page looks: a query that is none of ours is part of it and matches nothing that is held."""
    return (
        environ["PATH_INFO"],
        environ.get("QUERY_STRING", ""),
        environ["wsgi.url_scheme"],
        accepted(environ.get("HTTP_ACCEPT_LANGUAGE", "")),
        "gzip" in environ.get("HTTP_ACCEPT_ENCODING", ""),
    )
