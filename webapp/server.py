"""The server behind `kb serve`: one process, or several workers behind one listening socket."""

from __future__ import annotations

import gc
import ipaddress
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

from webapp import logs
from webapp.settings import SettingError, from_environment
from webapp.workers import WorkerError, supervise

__all__ = ["ServeError", "serve"]

log = logging.getLogger("webapp")


class ServeError(RuntimeError):
    """The server cannot start. The text says why, in one line."""


def serve(host: str = "127.0.0.1", port: int = 8000, config: Mapping[str, Any] | None = None) -> None:
    """Answer requests until SIGINT or SIGTERM, then finish those in progress.

    `config` overrides settings as in `create_app`. Raises ServeError when it cannot listen, SettingError for a wrong setting.
    """
    settings = from_environment() | dict(config or {})
    workers = int(settings["WORKERS"])
    folder_of_metrics = nullcontext() if settings["REDIS"] else _shared_metrics(workers)
    with _bound_socket(host, port) as listener, folder_of_metrics:
        logs.configure(settings["LOG"])
        if not _is_loopback(host):
            log.warning(
                "listening on %s, beyond this machine: put a reverse proxy with TLS in front, and see docs/web.md", host
            )
        announce = f"http://{f'[{host}]' if ':' in host else host}:{port}/ answers; Ctrl+C stops it"
        if workers == 1:
            _serve_in_this_process(listener, settings, lambda: log.info(announce))
            return
        log.info("%d workers start", workers)
        try:
            supervise(workers, _serve_as_worker, listener, settings)
        except WorkerError as error:
            raise ServeError(str(error)) from error


def _serve_in_this_process(listener: socket.socket, settings: Mapping[str, Any], on_ready: Callable[[], None]) -> None:
    from webapp.app import create_app
    from webapp.connections import BoundedServer
    from webapp.services import EXTENSION

    app = create_app(settings)
    for name in app.jinja_env.list_templates():
        app.jinja_env.get_template(name)  # compiled now and not while the first reader waits
    server = BoundedServer(app.wsgi_app, listener, threads=app.config["THREADS"], proxies=app.config["PROXIES"])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: server.stop())
    _stop_with_parent(server.stop)
    gc.freeze()  # the entries live as long as the process, and a full collection would walk through them while readers wait
    on_ready()
    server.run()
    services = app.extensions[EXTENSION]
    if services.jobs:
        services.jobs.close()
    services.metrics.close()


def _serve_as_worker(listener: socket.socket, settings: Mapping[str, Any], on_ready: Callable[[], None]) -> None:
    """Serve in a spawned process, whose logging is not configured yet."""
    logs.configure(settings["LOG"])

    def ready() -> None:
        on_ready()
        log.info("worker %d is ready", os.getpid())

    try:
        _serve_in_this_process(listener, settings, ready)
    except SettingError as error:
        log.error("%s", error)  # noqa: TRY400 - one line says it
        sys.exit(1)


def _stop_with_parent(stop: Callable[[], None]) -> None:
    """Stop a worker whose parent has died, because nobody else would."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        stop()

    threading.Thread(target=watch, name="parent", daemon=True).start()


@contextmanager
def _shared_metrics(workers: int) -> Iterator[None]:
    """Let several workers write their metrics to one folder. Must be entered before prometheus_client is imported."""
    if workers == 1 or "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="kb-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        try:
            yield
        finally:
            del os.environ["PROMETHEUS_MULTIPROC_DIR"]


def _bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that has the address. `::` stands for IPv4 as well. Raises ServeError.

    It listens once a `BoundedServer` has it, so that a proxy asks another replica while this one still reads its entries.
    """
    if not 0 < port < 1 << 16:
        raise ServeError(f"no port has the number {port}; choose one from 1 to 65535 with --port")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with ExitStack() as on_failure:
            bound = on_failure.enter_context(socket.socket(family))
            if os.name == "posix":
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(host != "::"))
            bound.bind((host, port))
            on_failure.pop_all()
    except OSError as error:
        raise ServeError(
            f"cannot listen on {host}:{port} ({error.strerror or error}); choose another with --host or --port"
        ) from error
    return bound


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
