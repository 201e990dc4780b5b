"""The web application: a page to paste an error into, a permalink per entry, and an API. It knows kb, and the sandbox only through kb."""

from __future__ import annotations

from typing import Any

__all__ = ["create_app", "serve"]


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from webapp.app import create_app

        return create_app
    if name == "serve":
        from webapp.server import serve

        return serve
    raise AttributeError(f"module 'webapp' has no attribute {name!r}")
