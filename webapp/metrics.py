"""Numbers for Prometheus: requests, lookups by confidence and language, how long they took, runs by outcome. They hold nothing that was pasted."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from flask import Blueprint, Flask, Response, current_app, g, request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

__all__ = ["Metrics", "count_lookup", "count_request", "count_run", "init_app"]

bp = Blueprint("metrics", __name__)
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds in seconds: a look-up takes about a millisecond."""


class Metrics(NamedTuple):
    """The application's numbers."""

    registry: CollectorRegistry
    requests: Counter
    latency: Histogram
    lookups: Counter
    lookup_latency: Histogram
    runs: Counter


def init_app(app: Flask) -> None:
    """Count the application's requests and, unless the operator switched it off, serve the numbers at /metrics."""
    registry = CollectorRegistry()
    app.extensions["kb-metrics"] = Metrics(
        registry=registry,
        requests=Counter(
            "kb_requests", "Requests by route, method and status.", ["route", "method", "status"], registry=registry
        ),
        latency=Histogram("kb_request_seconds", "Time to answer a request.", registry=registry, buckets=_BUCKETS),
        lookups=Counter(
            "kb_lookups",
            "Look-ups by the confidence of their first match and the text's language.",
            ["confidence", "lang"],
            registry=registry,
        ),
        lookup_latency=Histogram(
            "kb_lookup_seconds", "Time of the look-up itself.", registry=registry, buckets=_BUCKETS
        ),
        runs=Counter("kb_runs", "Programs run from a page, by outcome.", ["outcome"], registry=registry),
    )
    app.after_request(_count_request)
    if app.config["METRICS"]:
        app.register_blueprint(bp)


def count_request(metrics: Metrics, route: str, method: str, status: int, seconds: float) -> None:
    """Count one request."""
    metrics.requests.labels(route, method, int(status)).inc()
    metrics.latency.observe(seconds)


def count_lookup(metrics: Metrics, confidence: str, lang: str, seconds: float) -> None:
    """Count one look-up."""
    metrics.lookups.labels(confidence, lang).inc()
    metrics.lookup_latency.observe(seconds)


def count_run(outcome: str) -> None:
    """Count one program that a page's reader had run."""
    _current().runs.labels(outcome).inc()


@bp.get("/metrics")
def metrics() -> Response:
    """Return the numbers in Prometheus' text format, summed over the workers where there are several."""
    registry = _current().registry
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _current() -> Metrics:
    found: Metrics = current_app.extensions["kb-metrics"]
    return found


def _count_request(response: Response) -> Response:
    route = request.url_rule.rule if request.url_rule else "-"
    count_request(_current(), route, request.method, response.status_code, time.perf_counter() - g.started)
    return response
