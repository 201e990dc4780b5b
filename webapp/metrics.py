"""Prometheus metrics: requests, look-ups by confidence and language, latencies, runs by outcome. They hold nothing that was pasted."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

__all__ = ["Metrics", "known_method"]

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds in seconds: a look-up takes about a millisecond."""
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})


class Metrics:
    """Counters and histograms of one application.

    Where `PROMETHEUS_MULTIPROC_DIR` names a folder, prometheus-client shares the numbers of all worker processes through it.
    """

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "kb_requests", "Requests by route, method and status.", ["route", "method", "status"], registry=registry
        )
        self._latency = Histogram(
            "kb_request_seconds", "Time to answer a request.", registry=registry, buckets=_BUCKETS
        )
        self._lookups = Counter(
            "kb_lookups",
            "Look-ups by the confidence of their first match and the text's language.",
            ["confidence", "lang"],
            registry=registry,
        )
        self._lookup_latency = Histogram(
            "kb_lookup_seconds", "Time of the look-up itself.", registry=registry, buckets=_BUCKETS
        )
        self._runs = Counter(
            "kb_runs",
            "Programs run from a page: passed (a repro that fails as it should, a fix that runs through), failed, or the limit that ended them.",
            ["outcome"],
            registry=registry,
        )

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request. `route` is the matched rule, never the path, so that a flood of paths makes no new series."""
        self._requests.labels(route, known_method(method), int(status)).inc()
        self._latency.observe(seconds)

    def count_lookup(self, confidence: str, lang: str, seconds: float) -> None:
        """Count one look-up."""
        self._lookups.labels(confidence, lang).inc()
        self._lookup_latency.observe(seconds)

    def count_run(self, outcome: str) -> None:
        """Count one program that a reader had run."""
        self._runs.labels(outcome).inc()

    def exposition(self) -> bytes:
        """Return the numbers in Prometheus' text format, summed over the workers where there are several."""
        registry = self._registry
        if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def close(self) -> None:
        """End with the server."""


def known_method(method: str) -> str:
    """Return an HTTP method, or `other` for one that the client made up: such names must not become labels or lines of the log."""
    return method if method in _METHODS else "other"
