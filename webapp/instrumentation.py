"""Each request is counted and logged: method, route, status, time, language and confidence. Nothing that a reader sent is."""

from __future__ import annotations

import logging
import time

from flask import Flask, Response, g, request

from webapp import i18n
from webapp.metrics import known_method
from webapp.services import services

__all__ = ["annotate", "init_app"]

log = logging.getLogger("webapp.requests")


def init_app(app: Flask) -> None:
    """Measure every request of the application."""
    app.before_request(_start)
    app.after_request(_finish)


def annotate(**fields: str) -> None:
    """Add fields to the line of the log for this request."""
    g.log_fields = g.get("log_fields", {}) | fields


def _start() -> None:
    g.request_started = time.perf_counter()


def _finish(response: Response) -> Response:
    seconds = time.perf_counter() - g.request_started
    route = request.url_rule.rule if request.url_rule else "-"
    services().metrics.count_request(route, request.method, response.status_code, seconds)
    if log.isEnabledFor(logging.INFO):
        fields = {"method": known_method(request.method), "route": route, "status": response.status_code}
        fields |= {"ms": round(seconds * 1000, 1)}
        if lang := i18n.language_in_use():
            fields["lang"] = lang
        log.info("request", extra={"fields": fields | g.get("log_fields", {})})
    return response
