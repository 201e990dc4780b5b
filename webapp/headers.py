"""Security headers on every response: a strict Content-Security-Policy and its companions."""

from __future__ import annotations

from flask import Flask, Response, request

__all__ = ["CONTENT_SECURITY_POLICY", "init_app"]

_DIRECTIVES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
CONTENT_SECURITY_POLICY = "; ".join(f"{directive} {source}" for directive, source in _DIRECTIVES.items())

_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers would send `Origin: null` with this site's own forms
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), browsing-topics=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def init_app(app: Flask) -> None:
    """Set the headers on every response of the application."""
    app.after_request(_protect)


def _protect(response: Response) -> Response:
    response.headers.extend(_HEADERS)
    public = request.path.startswith(("/api/", "/static/"))
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin" if public else "same-origin"
    if request.is_secure and not request.root_path.strip("/"):  # a host that is shared by path decides for itself
        response.headers["Strict-Transport-Security"] = "max-age=31536000"
    response.headers.setdefault("Cache-Control", "no-store")
    return response
