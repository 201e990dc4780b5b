"""Static files under an address that holds the hash of their content, so that a browser may keep them for ever."""

from __future__ import annotations

import mimetypes
from functools import cache
from pathlib import Path

from flask import Blueprint, Flask, Response, abort, current_app, url_for

from webapp.stored import Stored, send, store

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
    return url_for("assets.static_file", digest=_load(name, _modified(name)).digest, name=name)


@bp.get("/static/<digest>/<name>")
def static_file(digest: str, name: str) -> Response:
    """Serve a static file; under an outdated hash it is served as it is now, but not kept."""
    if not (FOLDER / name).is_file():
        abort(404)
    content = _load(name, _modified(name))
    response = send(content)
    response.headers["Cache-Control"] = (
        f"public, max-age={_YEAR}, immutable" if digest == content.digest else "no-cache"
    )
    return response


def _modified(name: str) -> int:
    """Return the file's time of change while developing, so that an edit is seen at once; 0 in production, where files stay."""
    return (FOLDER / name).stat().st_mtime_ns if current_app.debug else 0


@cache
def _load(name: str, modified: int) -> Stored:  # noqa: ARG001 - part of the key
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    return store((FOLDER / name).read_bytes(), [("Content-Type", kind + charset), ("Vary", "Accept-Encoding")])
