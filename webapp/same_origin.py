"""Protection against cross-site request forgery: requests that change something must come from this site's own pages.

There are no cookies and no accounts, so a forged request has nobody's rights. It could still start programs from the address of a visitor.

A browser says where a request comes from: in `Sec-Fetch-Site` over HTTPS and on loopback, else in `Origin`, which every current browser sends with
each POST. A request with neither comes from a program and not from a page that somebody visits, and is let through.
"""

from __future__ import annotations

from flask import abort, request

from webapp.urls import site_origins

__all__ = ["require_same_origin"]


def require_same_origin() -> None:
    """End the request with 403 when it is a POST that a page of another origin makes."""
    if request.method != "POST":
        return
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    own = origin is None or origin in site_origins()
    if site is not None:
        own = site in ("same-origin", "none")  # none: the user's own doing, such as a reload
    if not own:
        abort(403)
