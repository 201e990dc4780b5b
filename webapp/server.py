"""The production server behind `kb serve`: granian with the application loaded once, before its workers fork."""

from __future__ import annotations

import ipaddress
import logging
import multiprocessing
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from flask import Flask

from webapp import logs
from webapp.settings import from_environment

__all__ = ["ServeError", "serve"]

log = logging.getLogger("webapp")
_STOP_SECONDS = 10
"""How long a request that is under way may take when the server is told to stop."""


class ServeError(RuntimeError):
    """The server cannot start; its text says why, in one line."""


def serve(host: str = "127.0.0.1", port: int = 8000, config: Mapping[str, Any] | None = None) -> None:
    """Answer requests until SIGINT or SIGTERM; then finish those under way, at most `_STOP_SECONDS` long.

    `config` overrides settings as in `create_app`. Raises ServeError when the address cannot be had, SettingError for a wrong setting.
    """
    settings = from_environment() | dict(config or {})
    _check_address(host, port)
    with _shared_metrics(int(settings["WORKERS"])):
        _serve(host, port, settings)


def _serve(host: str, port: int, settings: Mapping[str, Any]) -> None:
    from granian.constants import Interfaces
    from granian.log import LogLevels
    from granian.server import Server

    app = _load(settings)
    if not _is_loopback(host):
        log.warning(
            "listening on %s, beyond this machine: put a reverse proxy with TLS in front, and see docs/web.md", host
        )
    place = f"[{host}]" if ":" in host else host
    log.info(
        "http://%s:%d/ answers from %d entries; Ctrl+C stops it",
        place,
        port,
        len(app.extensions["kb"].current().corpus),
    )
    for name in app.jinja_env.list_templates():
        app.jinja_env.get_template(name)  # compiled once, before workers fork, and not while the first reader waits
    server = Server(
        "webapp",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=settings["WORKERS"],
        blocking_threads=settings["THREADS"],
        log_level=LogLevels.error,
        respawn_failed_workers=True,
        workers_kill_timeout=_STOP_SECONDS,
        websockets=False,
    )
    server.serve(target_loader=_loader(app, settings), wrap_loader=False)


@contextmanager
def _shared_metrics(workers: int) -> Iterator[None]:
    """Let several workers write their numbers to one folder; must be entered before prometheus_client is imported."""
    if workers == 1 or "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="kb-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


def _loader(app: Flask, settings: Mapping[str, Any]) -> Callable[[], Flask]:
    """Return what a worker calls for its application: the one that it inherits where workers fork, its own where they are started afresh."""
    if multiprocessing.get_start_method() == "fork":
        return lambda: app
    return partial(_load, dict(settings))


def _load(settings: Mapping[str, Any]) -> Flask:
    from webapp.app import create_app

    app = create_app(settings)
    logs.configure(app.config["LOG"])
    return app


def _check_address(host: str, port: int) -> None:
    """Find out before anything is loaded whether the address is free, so that the reason is told plainly."""
    if not 0 < port < 1 << 16:
        raise ServeError(f"no port has the number {port}; choose one from 1 to 65535 with --port")
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise ServeError(
            f"cannot listen on {host}:{port} ({error.strerror or error}); choose another with --host or --port"
        ) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
