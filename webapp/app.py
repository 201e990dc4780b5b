"""The application factory: settings, knowledge, blueprints. Importing this module does no work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Flask, request
from werkzeug.middleware.proxy_fix import ProxyFix

from webapp import (
    api,
    assets,
    discovery,
    errors,
    front,
    headers,
    language,
    limiting,
    logs,
    metrics,
    operations,
    pages,
    views,
)
from webapp.asking import current_knowledge
from webapp.knowledge import Library
from webapp.settings import MAX_TEXT_BYTES, from_environment

__all__ = ["create_app"]

_FORM_OVERHEAD = 16 << 10
"""Bytes of a request that may stand around the text: field names, boundaries, JSON."""
_ESCAPED = 3
"""By how much a text may grow on the way: a form without multipart writes a byte as %XX."""


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Return the application. `config` overrides settings, which come from the environment; `LIBRARY` takes the place of the entries on disk.

    Raises webapp.settings.SettingError for a setting that cannot be read.
    """
    app = Flask(__name__, static_folder=None)
    app.config.from_mapping(from_environment())
    app.config.from_mapping(config or {})
    app.config.setdefault("MAX_CONTENT_LENGTH", MAX_TEXT_BYTES * _ESCAPED + _FORM_OVERHEAD)
    app.config["MAX_FORM_MEMORY_SIZE"] = app.config["MAX_CONTENT_LENGTH"]
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.extensions["kb"] = app.config.get("LIBRARY") or Library(refresh_seconds=app.config["REFRESH"])
    app.jinja_options = {"trim_blocks": True, "lstrip_blocks": True, "autoescape": True}
    app.jinja_env.filters |= {"placeholders": views.placeholders, "visible": views.visible}
    app.jinja_env.globals |= {
        "t": language.translate,
        "topic_name": language.topic_name,
        "page_lang": language.current,
        "html_lang": language.HTML_LANG,
        "alternates": discovery.alternates,
        "address": discovery.address,
        "knowledge": current_knowledge,
    }
    app.url_defaults(_keep_language)
    for part in (front, logs, metrics, headers, assets, errors, limiting):
        part.init_app(app)
    if app.config["PROXIES"]:
        hops = app.config["PROXIES"]
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops)  # type: ignore[method-assign]
    if app.config["RUN"]:
        from webapp import runs

        runs.init_app(app)
    for bp in (pages.bp, discovery.bp, api.bp, operations.bp):
        app.register_blueprint(bp)
    return app


def _keep_language(endpoint: str, values: dict[str, Any]) -> None:
    """Once a reader has chosen a language, every link to a page keeps it."""
    if endpoint.startswith("pages.") and "lang" not in values and (lang := language.chosen(request)):
        values["lang"] = lang
