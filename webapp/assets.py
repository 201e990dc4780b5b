"""Static files under an address that holds the hash of their content, so that a browser may keep them for ever."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, abort, current_app, send_from_directory, url_for

__all__ = ["asset", "bp", "init_app"]

FOLDER = Path(__file__).parent / "static"
_YEAR = 365 * 24 * 3600

bp = Blueprint("assets", __name__)


def init_app(app: Flask) -> None:
    """Give templates `asset(name)`, and serve the files."""
    app.register_blueprint(bp)
    app.jinja_env.globals["asset"] = asset


def asset(name: str) -> str:
    """Return the address of a static file, which changes with its content."""
    return url_for("assets.static_file", digest=_digest(name, _modified(name)), name=name)


@bp.get("/static/<digest>/<name>")
def static_file(digest: str, name: str) -> Response:
    """Serve a static file; one with an outdated hash is served as it is now, but not kept."""
    try:
        current = digest == _digest(name, _modified(name))
    except OSError:
        abort(404)
    options: dict[str, Any] = {"max_age": _YEAR if current else 0}
    response = send_from_directory(FOLDER, name, conditional=True, **options)
    if current:
        response.cache_control.immutable = True
    return response


def _modified(name: str) -> int:
    """Return the file's time of change while developing, so that an edit is seen at once; 0 in production, where files stay."""
    return (FOLDER / name).stat().st_mtime_ns if current_app.debug else 0


@cache
def _digest(name: str, modified: int) -> str:  # noqa: ARG001 (part of the key)
    return hashlib.blake2b((FOLDER / name).read_bytes(), digest_size=8).hexdigest()
