"""What an operator asks: whether this instance can answer."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify

from webapp.asking import current_knowledge

__all__ = ["bp"]

bp = Blueprint("operations", __name__)


@bp.get("/healthz")
def health() -> Response:
    """Tell that this instance can answer, and from how much: 200 with entries, 503 with none."""
    known = current_knowledge()
    response = jsonify(
        status="ok" if known.corpus else "empty",
        entries=len(known.corpus),
        left_out=len({fault.path for fault in known.corpus.faults}),
    )
    response.status_code = 200 if known.corpus else 503
    return response
