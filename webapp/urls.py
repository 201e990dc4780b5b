"""Addresses of this site: the public one that the operator names, the path that it is mounted at, and links in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from flask import Flask, current_app, request, url_for
from werkzeug.middleware.proxy_fix import ProxyFix

from kb.text.languages import LANGUAGES
from webapp.i18n import HTML_LANG, requested_language
from webapp.settings import SettingError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["PublicUrl", "absolute_url", "alternates", "init_app", "public_url", "site_origins", "site_root"]

_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")
_PUBLIC_URL = re.compile(
    rf"(?P<origin>https?://[A-Za-z0-9.-]+(?::\d+)?|https?://\[[0-9A-Fa-f:.]+\](?::\d+)?)(?P<prefix>{_PREFIX.pattern})/?"
)


class PublicUrl(NamedTuple):
    """The site's public address: its origin (`https://tools.example.org`) and the path it is mounted at (`/kb`), each empty where unknown."""

    origin: str = ""
    prefix: str = ""


class MountPoint:
    """WSGI middleware that sets the path at which the site is mounted, `SCRIPT_NAME`, for proxies that pass the whole path and those that cut it.

    `prefix` None takes the path from X-Forwarded-Prefix, which ProxyFix has put into `SCRIPT_NAME`, if it is a plain path.
    """

    def __init__(self, app: WSGIApplication, prefix: str | None) -> None:
        self.app = app
        self.prefix = prefix

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer the request below the mount point."""
        prefix = self.prefix
        if prefix is None:
            forwarded = environ.get("SCRIPT_NAME", "").rstrip("/")
            prefix = forwarded if _PREFIX.fullmatch(forwarded) else ""
        path = environ.get("PATH_INFO", "")
        if prefix and (path == prefix or path.startswith(f"{prefix}/")):
            environ["PATH_INFO"] = path.removeprefix(prefix)
        environ["SCRIPT_NAME"] = prefix
        return self.app(environ, start_response)


def init_app(app: Flask) -> None:
    """Read KB_WEB_URL, believe the proxies that KB_WEB_PROXIES counts, and let links keep the reader's language.

    Comes after all routes are registered. Raises SettingError.
    """
    public = app.extensions["kb-url"] = _parse(app.config["URL"])
    _check_prefix(app, public.prefix)
    app.wsgi_app = MountPoint(app.wsgi_app, public.prefix if public.origin else None)  # type: ignore[method-assign]
    if hops := app.config["PROXIES"]:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops, x_prefix=hops)  # type: ignore[method-assign]
    app.url_defaults(_keep_language)


def public_url() -> PublicUrl:
    """Return the public address that the operator named."""
    return cast(PublicUrl, current_app.extensions["kb-url"])


def absolute_url(endpoint: str, **values: Any) -> str:
    """Return the public address of a page, without an origin where the operator has named none (KB_WEB_URL)."""
    return public_url().origin + url_for(endpoint, **values)


def alternates(endpoint: str, **values: Any) -> list[tuple[str, str]]:
    """Return (language, address) of a page in both languages, and for readers of neither."""
    pages = [(HTML_LANG[lang], absolute_url(endpoint, **values | {"lang": lang})) for lang in LANGUAGES]
    return [*pages, ("x-default", pages[0][1])]


def site_root() -> str:
    """Return the origin to put before a path where only whole addresses are allowed: the public one, else the one that was asked."""
    return public_url().origin or request.host_url.rstrip("/")


def site_origins() -> tuple[str, ...]:
    """Return the origins that this site's own pages have: the public one, where the operator has named it, and the one that was asked."""
    return tuple(filter(None, (public_url().origin, request.host_url.rstrip("/"))))


def _parse(url: str) -> PublicUrl:
    if not url:
        return PublicUrl()
    parsed = _PUBLIC_URL.fullmatch(url)
    if parsed is None:
        raise SettingError(
            f"KB_WEB_URL={url}: write an address such as https://kb.example.org or https://example.org/kb"
        )
    return PublicUrl(parsed["origin"].lower(), parsed["prefix"])


def _check_prefix(app: Flask, prefix: str) -> None:
    """Refuse a mount point whose first part is a path of this site: a request below it could mean either."""
    first = prefix.split("/")[1] if prefix else ""
    if first and any(rule.rule.split("/")[1] == first for rule in app.url_map.iter_rules()):
        raise SettingError(
            f"KB_WEB_URL ends in /{first}, which is one of kb's own paths: choose another path for the site"
        )


def _keep_language(endpoint: str, values: dict[str, Any]) -> None:
    """Once a reader has chosen a language, every link to a page keeps it."""
    if endpoint.startswith("pages.") and "lang" not in values and (lang := requested_language()):
        values["lang"] = lang
