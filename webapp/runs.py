"""The Run button: start a stored case, follow it as it goes, cancel it. No program ever comes from a request."""

from __future__ import annotations

from typing import Any, cast

from flask import Blueprint, Flask, Response, abort, current_app, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from kb.entry import Case, Entry
from webapp import limiting, metrics
from webapp.asking import current_knowledge
from webapp.language import catalogue, current, translate
from webapp.running import Busy, Job, Runner
from webapp.settings import SettingError
from webapp.views import runnable, view_case, visible

__all__ = ["init_app"]

bp = Blueprint("runs", __name__)
_PATIENCE = 2
"""Seconds after which a page without JavaScript looks again."""


def init_app(app: Flask) -> None:
    """Let readers run stored cases. Raises SettingError for what would be unsafe or could not work."""
    backend = app.config["RUN_BACKEND"]
    if backend == "process":
        raise SettingError("KB_WEB_RUN_BACKEND=process: readers' runs need a sandbox; write auto, docker or bubblewrap")
    if app.config["WORKERS"] != 1:
        raise SettingError("KB_WEB_RUN needs KB_WEB_WORKERS=1: one process keeps queue and results")

    def on_end(way: str) -> None:
        with app.app_context():
            metrics.count_run(way)

    app.extensions["kb-runner"] = Runner(app.config["RUN_SLOTS"], backend, on_end)
    app.jinja_env.globals["run_words"] = _words
    app.register_blueprint(bp)


@bp.before_request
def refuse_other_sites() -> None:
    """Let only this site's own pages start or cancel something."""
    if request.method == "POST" and request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        abort(403)


@bp.post("/run")
def start() -> BaseResponse:
    """Start the case whose id the form names; answer with the address to follow it at."""
    case = _case(request.form.get("case", ""))
    limiting.count_run()
    try:
        job = _runner().start(case, request.remote_addr or "")
    except Busy as busy:
        return _refusal(str(busy))
    if _wants_json():
        return _state(job)
    return redirect(url_for("runs.follow", job_id=job.id, lang=request.args.get("lang")), 303)


@bp.get("/run/<job_id>")
def follow(job_id: str) -> Response:
    """What a job has printed so far: as JSON from event number `seen` on, or as a page that looks again by itself."""
    job = _job(job_id)
    if _wants_json():
        return _state(job)
    entry, case = _found(job.case.id)
    page = render_template(
        "run.html",
        job=job,
        entry=entry,
        case=view_case(current_knowledge(), case),
        title=entry.title[current()],
        ahead=_runner().ahead(job),
        refresh=None if job.over else _PATIENCE,
    )
    return Response(page, mimetype="text/html")


@bp.post("/run/<job_id>/cancel")
def cancel(job_id: str) -> BaseResponse:
    """Cancel a job, if it is this reader's."""
    job = _job(job_id)
    if job.client == (request.remote_addr or ""):
        _runner().cancel(job)
    return _state(job) if _wants_json() else redirect(url_for("runs.follow", job_id=job.id), 303)


def _runner() -> Runner:
    return cast(Runner, current_app.extensions["kb-runner"])


def _wants_json() -> bool:
    return request.accept_mimetypes.best == "application/json"


def _found(case_id: str) -> tuple[Entry, Case]:
    entry = current_knowledge().corpus.get(case_id.partition("/")[0])
    case = next((case for case in entry.cases if case.id == case_id), None) if entry else None
    if entry is None or case is None:
        abort(404)
    return entry, case


def _case(case_id: str) -> Case:
    case = _found(case_id)[1]
    if not runnable(case):
        abort(404)
    return case


def _job(job_id: str) -> Job:
    job = _runner().get(job_id)
    if job is None:
        abort(404)
    return job


def _state(job: Job) -> Response:
    seen = request.args.get("seen", 0, type=int)
    events: list[dict[str, Any]] = [
        {"role": event.role, "stream": event.stream, "text": visible(event.text), "seconds": event.seconds}
        for event in job.events[max(0, seen) :]
    ]
    return jsonify(
        id=job.id,
        follow=url_for("runs.follow", job_id=job.id),
        cancel=url_for("runs.cancel", job_id=job.id),
        state=job.state,
        ahead=_runner().ahead(job),
        events=events,
    )


def _words() -> dict[str, str]:
    """Return the texts that the page's script needs, by the end of their key."""
    return {key.removeprefix("run."): text for key, text in catalogue(current()).items() if key.startswith("run.")}


def _refusal(key: str) -> Response:
    headers = {"Retry-After": "10"}
    if _wants_json():
        response = jsonify(message=translate(key))
        response.status_code = 429
        response.headers.extend(headers)
        return response
    return Response(render_template("error.html", code=429, name="", message=translate(key), similar=[]), 429, headers)
