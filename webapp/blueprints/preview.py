"""The page of `kb preview`: an entry while it is being written, its faults and its last run beside it, kept up to date as the file changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

from flask import Blueprint, Response, current_app, redirect, render_template, request, stream_with_context, url_for
from werkzeug.wrappers import Response as BaseResponse

from kb.authoring.live_preview import Look, Preview
from kb.lint.rules import all_sentences
from kb.verify.verifier import Verdict
from webapp.i18n import catalogue, current_language, requested_language
from webapp.presenters import view_entry, visible
from webapp.same_origin import require_same_origin
from webapp.services import current_snapshot

__all__ = ["EXTENSION", "bp"]

EXTENSION = "kb-preview"
"""The key of `app.extensions` for the `Preview`."""

bp = Blueprint("preview", __name__)
_PING_SECONDS = 15.0
"""Seconds without a change after which a waiting page is sent a comment, so that the server notices one that was closed."""

bp.before_app_request(require_same_origin)


class FaultView(NamedTuple):
    """A fault: its line, the rule and the rule's sentence, what is wrong, and that line of the file."""

    line: int
    rule: str
    sentence: str
    what: str
    text: str


class CaseView(NamedTuple):
    """The outcome of a case. `faults` are (line, what), `printed` are (role, text)."""

    id: str
    outcome: str
    reason: str
    seconds: float
    faults: tuple[tuple[int, str], ...]
    printed: list[tuple[str, str]]


@bp.before_app_request
def start_at_the_preview() -> BaseResponse | None:
    """Redirect the start page to the preview, unless it has a question."""
    if request.path == "/" and request.method == "GET" and "q" not in request.args:
        return redirect(url_for("preview.page", lang=request.args.get("lang")))
    return None


@bp.get("/preview")
def page() -> str:
    """The entry's page as readers will see it, its faults, and its last run."""
    preview = _preview()
    look = preview.look()
    trial = preview.trial
    verdicts = trial.verdicts if trial else ()
    return render_template(
        "preview.html",
        entry=view_entry(current_snapshot(), look.entry, current_language()),
        w=catalogue(current_language(), "preview"),
        version=preview.version,
        whole=look.whole,
        file=look.faults[0].path if look.faults else preview.path.name,
        faults=_faults(look),
        trial=trial,
        stale=bool(trial and trial.proves != preview.proves(look.entry)),
        passed=bool(verdicts) and all(verdict.outcome == "passed" for verdict in verdicts),
        cases=[_case(verdict) for verdict in verdicts],
        chosen=requested_language(),
    )


@bp.get("/preview/changes")
def changes() -> Response:
    """A stream of events: the preview's version, each time it changes."""
    preview = _preview()

    def events() -> Iterator[str]:
        version = -1
        while not preview.closed:
            yield f"data: {preview.version}\n\n" if preview.version != version else ": no change\n\n"
            version = preview.version
            preview.wait(version, _PING_SECONDS)

    return Response(stream_with_context(events()), mimetype="text/event-stream")


@bp.post("/preview/run")
def run() -> BaseResponse:
    """Run the entry's programs in the sandbox. The page shows the outcome."""
    _preview().run()
    return redirect(url_for("preview.page", lang=request.args.get("lang")), 303)


def _preview() -> Preview:
    return cast(Preview, current_app.extensions[EXTENSION])


def _faults(look: Look) -> list[FaultView]:
    sentences = all_sentences()
    return [
        FaultView(
            fault.line,
            fault.rule,
            sentences.get(fault.rule, ""),
            fault.what,
            visible("".join(look.lines[fault.line - 1 : fault.line])),
        )
        for fault in look.faults
    ]


def _case(verdict: Verdict) -> CaseView:
    printed = [
        (str(role), visible(outcome.stdout if role == "check" else outcome.stderr).strip("\n"))
        for role, outcome in verdict.outcomes.items()
    ]
    return CaseView(
        verdict.subject.id,
        verdict.outcome,
        verdict.reason,
        round(verdict.seconds, 2),
        tuple((line, visible(what)) for line, what in verdict.faults),
        [(role, text) for role, text in printed if text],
    )
