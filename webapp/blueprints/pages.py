"""The pages for people: ask and answer, a page for each entry, and lists by topic, kind and tag."""

from __future__ import annotations

from flask import Blueprint, Response, abort, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from kb.corpus.entry import Entry
from kb.record.name_history import name_history
from kb.record.query import recorded_packages
from kb.search.cause_choice import CauseChoice
from webapp.answer_view import view_answer
from webapp.blueprints.discovery import structured_data
from webapp.caching import revalidated_page
from webapp.i18n import HTML_LANG, current_language, requested_language, use_language
from webapp.limiting import client_key
from webapp.lookups import look_up
from webapp.name_view import view_missing_name, view_name
from webapp.presenters import view_changes, view_entry
from webapp.same_origin import require_same_origin
from webapp.services import current_snapshot, services

__all__ = ["bp"]

bp = Blueprint("pages", __name__)

_MAX_MATCHES = 10
"""Entries among which a reader can choose: the one that answers is among them more often than among the first few."""


@bp.route("/", methods=["GET", "POST"])
def home() -> Response:
    """The page to paste into. With a text, the answer is on it."""
    if request.method != "POST" and "q" not in request.args:
        return revalidated_page(render_template("home.html", text="", answer=None))
    text = request.form.get("text", "") if request.method == "POST" else request.args.get("q", "")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    only_language = "switch" in request.form and "asked" not in request.form
    return _answer_page(text) if text.strip() and not only_language else _question_page(text)


def _answer_page(text: str) -> Response:
    """Return the page with a pasted text and its answer."""
    answer = look_up(text, limit=_MAX_MATCHES)
    if answer.lang == "zh" and requested_language() is None:
        use_language("zh")
    view = view_answer(current_snapshot(), answer, text, current_language())
    return _private_page(render_template("home.html", text=text, answer=view))


def _question_page(text: str) -> Response:
    """Return the page with a text that is not looked up: it is empty, or only the language was switched."""
    return _private_page(render_template("home.html", text=text, answer=None))


def _private_page(html: str) -> Response:
    """Return a page that shows what somebody pasted. Only the reader's browser keeps it, so that Back shows the answer again, with scripts or without."""
    response = Response(html, mimetype="text/html")
    response.cache_control.private = True
    response.cache_control.no_cache = True
    response.content_language.add(HTML_LANG[current_language()])
    response.headers["X-Robots-Tag"] = "noindex"
    return response


@bp.get("/e/<slug>")
def entry(slug: str) -> BaseResponse:
    """The page of an entry. A former slug redirects to the current one."""
    snapshot = current_snapshot()
    entry = snapshot.corpus.get(slug)
    if entry is None:
        abort(404)
    if entry.id != slug:
        return redirect(url_for("pages.entry", slug=entry.id), 301)
    causes = len(entry.guidance["en"].items)
    cause = _number(request.args.get("cause", ""), causes) or 1
    view = view_entry(snapshot, entry, current_language(), CauseChoice(cause - 1, ""))
    data = structured_data(snapshot, entry, current_language(), view.heading, view.summary)
    refused = _number(request.args.get("refused", ""), causes)
    return revalidated_page(render_template("entry.html", entry=view, data=data, refused=refused))


def _number(text: str, most: int) -> int | None:
    """Return the number from 1 to `most` that a text is, or None."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 3 else 0
    return number if 1 <= number <= most else None


@bp.post("/helped")
def helped() -> BaseResponse:
    """Count whether an entry helped, where the operator keeps that."""
    require_same_origin()
    feedback = services().feedback
    entry = current_snapshot().corpus.get(request.form.get("entry", ""))
    vote = request.form.get("helped")
    if feedback is None or entry is None or vote not in ("yes", "no"):
        abort(404)
    services().limiter.check("RATE", request.remote_addr or "")
    causes = len(entry.guidance["en"].items)
    cause = _number(request.form.get("cause", ""), causes)
    feedback.count_vote(entry.id, helped=vote == "yes", cause=cause or 0, address=client_key(request.remote_addr or ""))
    if vote == "no" and cause and cause < causes:
        return redirect(url_for("pages.entry", slug=entry.id, cause=cause + 1, refused=cause, _anchor="what"), 303)
    return redirect(url_for("pages.entry", slug=entry.id, _anchor="thanks"), 303)


@bp.get("/browse")
def browse() -> Response:
    """All entries by topic, and all kinds and tags."""
    snapshot = current_snapshot()
    return revalidated_page(
        render_template("browse.html", topics=snapshot.topics, kinds=snapshot.kinds, tags=snapshot.tags)
    )


@bp.get("/t/<topic>")
def topic(topic: str) -> Response:
    """The entries of a topic."""
    return _list("topic", topic, current_snapshot().topics.get(topic))


@bp.get("/kind/<kind>")
def kind(kind: str) -> Response:
    """The entries of a kind, such as those about a symptom."""
    return _list("kind", kind, current_snapshot().kinds.get(kind))


@bp.get("/tag/<tag>")
def tag(tag: str) -> Response:
    """The entries with a tag."""
    return _list("tag", tag, current_snapshot().tags.get(tag))


@bp.get("/versions")
def versions() -> Response:
    """The releases of torch on which the cases ran: how many passed and failed, and how many differ from the release before."""
    return revalidated_page(render_template("versions.html", runs=current_snapshot().release_runs))


@bp.get("/versions/<release>")
def version(release: str) -> Response:
    """What a release words otherwise, or does otherwise, than the release before."""
    snapshot = current_snapshot()
    run = next((run for run in snapshot.release_runs if run.release == release), None)
    if run is None or not run.previous:
        abort(404)
    return revalidated_page(render_template("version.html", run=run, changes=view_changes(snapshot, run)))


@bp.get("/api/<name>")
def name(name: str) -> Response:
    """The releases of a package that have a name such as torch.symeig: since when, until when, with which parameters."""
    history = name_history(name)
    if history is None:
        said = view_missing_name(name, current_language())
        page = render_template("name.html", name=name, view=None, said=said, packages=recorded_packages())
        response = revalidated_page(page)
        response.status_code = 404
        return response
    return revalidated_page(render_template("name.html", name=name, view=view_name(history, current_language())))


def _list(by: str, name: str, entries: list[Entry] | None) -> Response:
    if not entries:
        abort(404)
    return revalidated_page(render_template("list.html", by=by, name=name, entries=entries))
