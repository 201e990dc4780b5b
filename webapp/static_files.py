"""Style sheet, scripts and icon, under an address that changes with their content, so that a browser may keep them for ever."""

from __future__ import annotations

import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path

from flask import Flask, Response, abort, request, url_for

__all__ = ["init_app", "static_url"]

FOLDER = Path(__file__).parent / "static"
_YEAR = 365 * 24 * 3600


def init_app(app: Flask) -> None:
    """Serve the files, and give templates `static_url(name)`."""
    app.add_url_rule("/static/<name>", "static", _send)
    app.jinja_env.globals["static_url"] = static_url


def static_url(name: str) -> str:
    """Return the address of a static file. Raises OSError when there is none of that name."""
    return url_for("static", name=name, v=_version(name))


def _send(name: str) -> Response:
    """Send a file. Under the address of another version it is sent as it is now, but not kept."""
    path = FOLDER / name
    if not path.is_file():
        abort(404)
    response = Response(path.read_bytes(), mimetype=mimetypes.guess_type(name)[0])
    response.cache_control.public = True
    if request.args.get("v") == _version(name):
        response.cache_control.max_age = _YEAR
        response.cache_control.immutable = True
    else:
        response.cache_control.no_cache = True
    return response


def _version(name: str) -> str:
    path = FOLDER / name
    return _digest(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _digest(path: Path, _modified: int) -> str:
    """Return a hash of the file's content. `_modified` is part of the key, so that an edited file gets a new address at once."""
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
