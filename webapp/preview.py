"""`kb preview`: the page of one entry while it is being written, its faults and its last run beside it, kept up to date as the file changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple, cast

from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    current_app,
    redirect,
    render_template,
    request,
    stream_with_context,
    url_for,
)
from werkzeug.exceptions import BadRequest
from werkzeug.sansio.utils import host_is_trusted
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.wrappers import Response as BaseResponse

from kb.answer import Answer, lookup
from kb.entry import Lang
from kb.index import open_index
from kb.preview import Look, Preview
from kb.rules import all_sentences
from kb.verify import Verdict
from webapp.app import create_app
from webapp.asking import current_knowledge
from webapp.knowledge import Knowledge
from webapp.language import chosen, current
from webapp.server import ServeError
from webapp.views import view_entry, visible

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["create_preview", "server"]

bp = Blueprint("preview", __name__)
_PATIENCE = 15.0
"""Seconds after which a page that waits for changes hears that there are none, so that a closed page is noticed."""


class FaultView(NamedTuple):
    """A fault: where, the rule and its sentence, what is wrong, and that line of the file."""

    line: int
    rule: str
    sentence: str
    what: str
    text: str


class CaseView(NamedTuple):
    """How a case came out: faults are (line, what), `printed` are (role, text)."""

    id: str
    outcome: str
    reason: str
    seconds: float
    faults: tuple[tuple[int, str], ...]
    printed: list[tuple[str, str]]


def create_preview(preview: Preview, hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")) -> Flask:
    """Return the application that shows the entry. It answers only to these host names: no other site's page may talk to it."""
    app = create_app(
        {
            "LIBRARY": _Library(preview),
            "RATE": "",
            "RUN": False,
            "METRICS": False,
            "MISSES": "",
            "URL": "",
            "PROXIES": 0,
        }
    )
    app.extensions["kb-preview"] = preview
    app.register_blueprint(bp)
    app.wsgi_app = _guarded(app.wsgi_app, hosts)  # type: ignore[assignment, method-assign]
    return app


def server(app: Flask, host: str, port: int) -> BaseWSGIServer:
    """Return a server that listens, a thread for each page; port 0 takes any that is free. Raises ServeError when it cannot listen."""
    if not 0 <= port < 1 << 16:  # the system would take the remainder for the port
        raise ServeError(f"no port has the number {port}; choose one from 0 to 65535 with --port")
    try:
        found = make_server(host, port, app, threaded=True, request_handler=_Quiet)
    except (OSError, SystemExit) as error:
        raise ServeError(f"cannot listen on {host}:{port}; choose another with --port") from error
    found.daemon_threads = True  # type: ignore[attr-defined]
    return found


@bp.before_app_request
def begin() -> BaseResponse | None:
    """The start page is the preview, and another site's page may start nothing."""
    if request.method == "POST" and request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        abort(403)
    if request.path == "/" and request.method == "GET" and "q" not in request.args:
        return redirect(url_for("preview.page", lang=request.args.get("lang")))
    return None


@bp.get("/preview")
def page() -> str:
    """The entry's page as it will look, its faults, and its last run."""
    preview = _preview()
    look = preview.look()
    trial = preview.trial
    return render_template(
        "preview.html",
        entry=view_entry(current_knowledge(), look.entry, current(), open_case=_first_case(look)),
        w=_words(current()),
        version=preview.version,
        whole=look.whole,
        file=look.faults[0].path if look.faults else preview.path.name,
        faults=_faults(look),
        trial=trial,
        stale=bool(trial and trial.proves != preview.proves(look.entry)),
        passed=bool(trial and trial.verdicts) and all(case.outcome == "passed" for case in trial.verdicts),  # type: ignore[union-attr]
        cases=[_case(verdict) for verdict in trial.verdicts] if trial else [],
        chosen=chosen(request),
    )


@bp.get("/preview/changes")
def changes() -> Response:
    """A stream of events: the version of what there is to see, each time it changes."""
    preview = _preview()

    def events() -> Iterator[str]:
        version = -1
        while not preview.closed:
            yield f"data: {preview.version}\n\n" if preview.version != version else ": nothing new\n\n"
            version = preview.version
            preview.wait(version, _PATIENCE)

    return Response(stream_with_context(events()), mimetype="text/event-stream")


@bp.post("/preview/run")
def run() -> BaseResponse:
    """Run the entry's programs in the sandbox; the page tells how it went."""
    _preview().run()
    return redirect(url_for("preview.page", lang=request.args.get("lang")), 303)


class _Library:
    """What is known, with the entry in it as it stands; takes the place of `webapp.knowledge.Library`."""

    def __init__(self, preview: Preview) -> None:
        self._preview = preview
        self._taken: tuple[Look, Knowledge] | None = None

    def current(self) -> Knowledge:
        look = self._preview.look()
        if self._taken is None or self._taken[0] is not look:
            self._taken = look, Knowledge(look.corpus, look.ledgers, self._ask, str(self._preview.version))
        return self._taken[1]

    def _ask(self, text: str, *, lang: Lang | None = None, limit: int = 5) -> Answer:
        return lookup(text, lang=lang, limit=limit, index=open_index(self._preview.folders))


class _Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


def _guarded(inside: WSGIApplication, hosts: tuple[str, ...]) -> WSGIApplication:
    """Refuse other host names before anything answers: `webapp.front` gives what it holds to whoever asks, without asking Flask.

    Otherwise another site's page could read under a name of its own for this address.
    """

    def guard(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        trusted = host_is_trusted(environ.get("HTTP_HOST"), hosts)
        return (inside if trusted else BadRequest())(environ, start_response)

    return guard


def _preview() -> Preview:
    return cast(Preview, current_app.extensions["kb-preview"])


def _first_case(look: Look) -> str:
    """The name of the case that is in view; any other text when there is no case yet."""
    return look.entry.cases[0].name if look.entry.cases else "none"


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
        (role, visible(outcome.stderr).strip("\n"))
        for role, outcome in (("repro", verdict.repro), ("fix", verdict.fix))
        if outcome
    ]
    return CaseView(
        verdict.case.id,
        verdict.outcome,
        verdict.reason,
        round(verdict.seconds, 2),
        tuple((line, visible(what)) for line, what in verdict.faults),
        [(role, text) for role, text in printed if text],
    )


@cache
def _words(lang: Lang) -> dict[str, str]:
    """Return the words of this page in a language, by key."""
    loaded: dict[str, str] = json.loads(
        resources.files("webapp").joinpath("locale", f"preview.{lang}.json").read_text("utf-8")
    )
    return loaded
