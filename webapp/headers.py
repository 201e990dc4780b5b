"""Response headers: a strict Content-Security-Policy and its kin on every answer, and how long a browser may keep it."""

from __future__ import annotations

from flask import Flask, Response, request

__all__ = ["CONTENT_SECURITY_POLICY", "init_app"]

CONTENT_SECURITY_POLICY = "; ".join(
    f"{what} {who}"
    for what, who in {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }.items()
)

_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), browsing-topics=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def init_app(app: Flask) -> None:
    """Set the headers on every answer of the application."""
    app.after_request(_protect)


def _protect(response: Response) -> Response:
    response.headers.extend(_HEADERS)
    public = request.path.startswith(("/api/", "/static/"))
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin" if public else "same-origin"
    if request.is_secure:
        response.headers["Strict-Transport-Security"] = "max-age=31536000"
    response.headers.setdefault("Cache-Control", "no-store")
    return response
