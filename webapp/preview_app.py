"""The application and the server of `kb preview`, for one author on their own machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flask import Flask
from werkzeug.exceptions import BadRequest
from werkzeug.sansio.utils import host_is_trusted
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from kb.authoring.live_preview import Look, Preview
from kb.text.languages import Lang
from webapp.app import create_app
from webapp.blueprints import preview as blueprint
from webapp.server import ServeError
from webapp.snapshot import Answer, Snapshot, lookup_in

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["create_preview", "make_preview_server"]

_LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")


def create_preview(preview: Preview, hosts: tuple[str, ...] = _LOCAL_HOSTS) -> Flask:
    """Return the application that shows the entry.

    It answers to these host names alone, because another site could otherwise read it under a name of its own for this address (DNS rebinding).
    Raises webapp.settings.SettingError.
    """
    overrides = {"RATE": "", "RUN": False, "METRICS": False, "MISSES": "", "URL": "", "PROXIES": 0}
    app = create_app({"SNAPSHOTS": _PreviewSnapshots(preview), **overrides})
    app.extensions[blueprint.EXTENSION] = preview
    app.register_blueprint(blueprint.bp)
    app.wsgi_app = _trust_hosts(app.wsgi_app, hosts)  # type: ignore[assignment, method-assign]
    return app


def make_preview_server(app: Flask, host: str, port: int) -> BaseWSGIServer:
    """Return a listening server with a thread for each request, because an open page holds one. Port 0 takes a free port.

    Raises ServeError when it cannot listen.
    """
    if not 0 <= port < 1 << 16:  # the system would take the remainder for the port
        raise ServeError(f"no port has the number {port}; choose one from 0 to 65535 with --port")
    try:
        server = make_server(host, port, app, threaded=True, request_handler=_QuietHandler)
    except (OSError, SystemExit) as error:
        raise ServeError(f"cannot listen on {host}:{port}; choose another with --port") from error
    server.daemon_threads = True  # type: ignore[attr-defined]
    return server


class _PreviewSnapshots:
    """A SnapshotSource that has the previewed entry as its file is now."""

    def __init__(self, preview: Preview) -> None:
        self._preview = preview
        self._last: tuple[Look, Snapshot] | None = None

    def current(self) -> Snapshot:
        """Return the snapshot with the entry as it is now."""
        look = self._preview.look()
        if self._last is None or self._last[0] is not look:
            self._last = look, Snapshot(look.corpus, look.ledgers, self._look_up, str(self._preview.version))
        return self._last[1]

    def _look_up(self, text: str, *, lang: Lang | None = None, limit: int = 5) -> Answer:
        return lookup_in(self._preview.folders)(
            text, lang=lang, limit=limit
        )  # opened for each, because the index follows the file


class _QuietHandler(WSGIRequestHandler):
    """Writes no line for each request."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


def _trust_hosts(app: WSGIApplication, hosts: tuple[str, ...]) -> WSGIApplication:
    """Return the application behind a check of the Host header."""

    def check(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        trusted = host_is_trusted(environ.get("HTTP_HOST"), hosts)
        return (app if trusted else BadRequest())(environ, start_response)

    return check
