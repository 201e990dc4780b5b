"""The application factory. Importing this module does no work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Flask

from webapp import caching, errors, headers, i18n, instrumentation, presenters, static_files, urls
from webapp.blueprints import api, discovery, health, pages
from webapp.feedback import SqliteFeedback
from webapp.limiting import RateLimiter
from webapp.markdown import render_inline
from webapp.metrics import Metrics
from webapp.request import MAX_BODY_BYTES, BoundedRequest
from webapp.services import EXTENSION, Services, current_snapshot
from webapp.settings import SettingError, from_environment
from webapp.snapshot import SnapshotProvider

__all__ = ["create_app"]


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Return the application.

    `config` overrides settings, which come from the environment. `FOLDERS` (paths) replaces the folders of entries, `SNAPSHOTS` (a SnapshotSource) the
    entries on disk, `RUN_CASE` (with the signature of kb.verify.case_runner.run_case) the sandbox. Raises webapp.settings.SettingError for a setting
    that cannot be read.
    """
    app = Flask(__name__, static_folder=None)
    app.request_class = BoundedRequest
    app.config.from_mapping(from_environment())
    app.config.from_mapping(config or {})
    app.config["MAX_CONTENT_LENGTH"] = app.config["MAX_FORM_MEMORY_SIZE"] = MAX_BODY_BYTES
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.extensions[EXTENSION] = _make_services(app)
    _prepare_templates(app)
    for module in (instrumentation, caching, headers, errors, static_files):  # the first sees each response last
        module.init_app(app)
    for blueprint in (pages.bp, discovery.bp, api.bp, health.bp):
        app.register_blueprint(blueprint)
    if app.config["RUN"]:
        from webapp.blueprints import runs

        app.jinja_env.globals["run_strings"] = runs.run_strings
        app.register_blueprint(runs.bp)
    urls.init_app(app)
    return app


def _make_services(app: Flask) -> Services:
    config, metrics = app.config, Metrics()
    jobs = None
    if config["RUN"]:
        _check_run_settings(app)
        from webapp.jobs import JobPool, run_case

        run = config.get("RUN_CASE", run_case)
        jobs = JobPool(config["RUN_SLOTS"], config["RUN_BACKEND"], on_end=metrics.count_run, run=run)
    return Services(
        snapshots=config.get("SNAPSHOTS") or SnapshotProvider(config.get("FOLDERS"), refresh_seconds=config["REFRESH"]),
        limiter=RateLimiter(
            {name: config[name] for name in ("RATE", "RUN_RATE")}, config["REDIS"], without_redis=config["REDIS_GONE"]
        ),
        metrics=metrics,
        feedback=SqliteFeedback(config["MISSES"]) if config["MISSES"] else None,
        jobs=jobs,
    )


def _check_run_settings(app: Flask) -> None:
    """Refuse to run readers' programs where that would be unsafe or could not work."""
    if app.config["RUN_BACKEND"] == "process":
        raise SettingError("KB_WEB_RUN_BACKEND=process: readers' runs need a sandbox; write auto, docker or bubblewrap")
    if app.config["WORKERS"] != 1:
        raise SettingError("KB_WEB_RUN needs KB_WEB_WORKERS=1: one process keeps queue and results")


def _prepare_templates(app: Flask) -> None:
    app.jinja_options = {"trim_blocks": True, "lstrip_blocks": True, "autoescape": True}
    app.jinja_env.filters |= {
        "placeholders": presenters.placeholders,
        "visible": presenters.visible,
        "inline": render_inline,
    }
    app.jinja_env.globals |= {
        "t": i18n.translate,
        "topic_name": i18n.topic_name,
        "page_lang": i18n.current_language,
        "html_lang": i18n.HTML_LANG,
        "alternates": urls.alternates,
        "absolute_url": urls.absolute_url,
        "snapshot": current_snapshot,
    }
