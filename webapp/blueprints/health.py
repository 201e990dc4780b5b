"""For operators: whether this instance can answer, and its metrics."""

from __future__ import annotations

from flask import Blueprint, Response, abort, current_app, jsonify
from prometheus_client import CONTENT_TYPE_LATEST

from webapp.services import current_snapshot, services

__all__ = ["bp"]

bp = Blueprint("health", __name__)


@bp.get("/healthz")
def health() -> Response:
    """Return whether this instance can answer: 200 with entries, 503 without."""
    corpus = current_snapshot().corpus
    response = jsonify(
        status="ok" if corpus else "empty",
        entries=len(corpus),
        left_out=len({fault.path for fault in corpus.faults}),
    )
    response.status_code = 200 if corpus else 503
    return response


@bp.get("/metrics")
def metrics() -> Response:
    """Return the metrics in Prometheus' text format, unless the operator switched them off."""
    if not current_app.config["METRICS"]:
        abort(404)
    return Response(services().metrics.exposition(), content_type=CONTENT_TYPE_LATEST)
