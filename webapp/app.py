"""The application factory. Importing this module does no work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flask import Flask

from webapp import caching, errors, headers, i18n, instrumentation, presenters, static_files, urls
from webapp.blueprints import api, discovery, health, pages
from webapp.feedback import open_feedback
from webapp.limiting import RateLimiter
from webapp.markdown import render_code_spans, render_inline
from webapp.metrics import Metrics
from webapp.request import MAX_BODY_BYTES, BoundedRequest
from webapp.services import EXTENSION, Services, current_snapshot
from webapp.settings import SettingError, from_environment
from webapp.snapshot import SnapshotProvider

if TYPE_CHECKING:
    from webapp.jobs import JobQueue

__all__ = ["create_app"]


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Return the application.

    `config` overrides settings, which come from the environment. `FOLDERS` (paths) replaces the folders of entries, `SNAPSHOTS` (a SnapshotSource) the
    entries on disk, `RUN_CASE` (with the signature of kb.verify.case_runner.run_case) the sandbox of this process. Raises webapp.settings.SettingError for a
    setting that cannot be read.
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
    config = app.config
    limiter = RateLimiter(
        {name: config[name] for name in ("RATE", "RUN_RATE")}, config["REDIS"], without_redis=config["REDIS_GONE"]
    )
    metrics = _make_metrics(config["REDIS"])
    return Services(
        snapshots=config.get("SNAPSHOTS") or SnapshotProvider(config.get("FOLDERS"), refresh_seconds=config["REFRESH"]),
        limiter=limiter,
        metrics=metrics,
        feedback=open_feedback(config["MISSES"], config["REDIS"]) if config["MISSES"] else None,
        jobs=_make_jobs(config, metrics) if config["RUN"] else None,
    )


def _make_metrics(redis: str) -> Metrics:
    if not redis:
        return Metrics()
    from webapp.redis_store import require_admission
    from webapp.shared_metrics import SharedMetrics

    require_admission(redis)
    return SharedMetrics(redis)


def _make_jobs(config: Mapping[str, Any], metrics: Metrics) -> JobQueue:
    """Return what runs readers' programs. Raises SettingError where that would be unsafe or could not work."""
    if config["REDIS"]:
        from webapp.cluster_jobs import ClusterJobs

        return ClusterJobs(config["REDIS"], on_end=metrics.count_run)
    if config["RUN_BACKEND"] == "process":
        raise SettingError("KB_WEB_RUN_BACKEND=process: readers' runs need a sandbox; write auto, docker or bubblewrap")
    if config["WORKERS"] != 1:
        raise SettingError(
            "KB_WEB_RUN with several workers needs KB_REDIS, which keeps queue and results, and kb worker; or KB_WEB_WORKERS=1"
        )
    from webapp.jobs import JobPool, run_case

    return JobPool(
        config["RUN_SLOTS"],
        config["RUN_BACKEND"],
        on_end=metrics.count_run,
        run=config.get("RUN_CASE", run_case),
    )


def _prepare_templates(app: Flask) -> None:
    app.jinja_options = {"trim_blocks": True, "lstrip_blocks": True, "autoescape": True}
    app.jinja_env.filters |= {
        "placeholders": presenters.placeholders,
        "visible": presenters.visible,
        "inline": render_inline,
        "code_spans": render_code_spans,
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
