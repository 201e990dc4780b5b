"""The Run button: start a stored case, follow its output, cancel it. No program ever comes from a request."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, abort, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from kb.corpus.entry import Case, Entry
from webapp.i18n import catalogue, current_language, translate
from webapp.jobs import Busy, Job, JobQueue, Unavailable
from webapp.presenters import runnable, view_case, visible
from webapp.same_origin import require_same_origin
from webapp.services import current_snapshot, services

__all__ = ["bp", "run_strings"]

bp = Blueprint("runs", __name__)
_RELOAD_SECONDS = 2
"""Seconds after which a page without JavaScript reloads."""
_RETRY_SECONDS = 10

bp.before_request(require_same_origin)


@bp.post("/run")
def start() -> BaseResponse:
    """Start the case whose id is in the form. The response says where to follow it."""
    entry, case = _entry_and_case(request.form.get("case", ""))
    if not runnable(case):
        abort(404)
    client = request.remote_addr or ""
    services().limiter.check("RUN_RATE", client)
    try:
        job = _jobs().start(case, client, repro_fails=entry.kind != "warning")
    except Busy as busy:
        return _refusal(429, str(busy))
    if _wants_json():
        return _state(job)
    return redirect(url_for("runs.follow", job_id=job.id, lang=request.args.get("lang")), 303)


@bp.get("/run/<job_id>")
def follow(job_id: str) -> Response:
    """Return a job's output so far: as JSON from event number `seen` on, or as a page that reloads itself."""
    job = _job(job_id)
    if _wants_json():
        return _state(job)
    entry, case = _entry_and_case(job.case_id)
    page = render_template(
        "run.html",
        job=job,
        entry=entry,
        case=view_case(current_snapshot(), case),
        title=entry.title[current_language()],
        ahead=_jobs().position(job),
        refresh=None if job.over else _RELOAD_SECONDS,
    )
    return Response(page, mimetype="text/html")


@bp.post("/run/<job_id>/cancel")
def cancel(job_id: str) -> BaseResponse:
    """Cancel a job, if it is this reader's."""
    job = _job(job_id)
    if job.client == (request.remote_addr or ""):
        _jobs().cancel(job)
    if _wants_json():
        return _state(job)
    return redirect(url_for("runs.follow", job_id=job.id, lang=request.args.get("lang")), 303)


def run_strings() -> dict[str, str]:
    """Return the strings that the page's script needs, by the end of their key."""
    strings = catalogue(current_language())
    return {key.removeprefix("run."): text for key, text in strings.items() if key.startswith("run.")}


def _jobs() -> JobQueue:
    jobs = services().jobs
    assert jobs is not None
    return jobs


def _wants_json() -> bool:
    return request.accept_mimetypes.best == "application/json"


def _entry_and_case(case_id: str) -> tuple[Entry, Case]:
    entry_and_case = current_snapshot().case(case_id)
    if entry_and_case is None:
        abort(404)
    return entry_and_case


def _job(job_id: str) -> Job:
    job = _jobs().get(job_id)
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
        ahead=_jobs().position(job),
        events=events,
    )


@bp.errorhandler(Unavailable)
def _unavailable(error: Unavailable) -> Response:
    return _refusal(503, str(error))


def _refusal(status: int, key: str) -> Response:
    headers = {"Retry-After": str(_RETRY_SECONDS)}
    if _wants_json():
        response = jsonify(message=translate(key))
        response.status_code = status
        response.headers.extend(headers)
        return response
    page = render_template(
        "error.html", code=status, name=HTTPStatus(status).phrase, message=translate(key), similar=[]
    )
    return Response(page, status, headers)
