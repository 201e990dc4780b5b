"""The pages for people: ask and answer, one page per entry, and browsing by topic and tag."""

from __future__ import annotations

from flask import Blueprint, Response, abort, current_app, redirect, render_template, request, url_for
from markupsafe import Markup
from werkzeug.wrappers import Response as BaseResponse

from kb.entry import Entry
from webapp import misses
from webapp.asking import ask, current_knowledge
from webapp.discovery import structured_data
from webapp.kept import kept, kept_part
from webapp.language import HTML_LANG, chosen, current, speak
from webapp.limiting import count_feedback
from webapp.views import fitting_case, view_answer, view_entry

__all__ = ["bp"]

bp = Blueprint("pages", __name__)


@bp.route("/", methods=["GET", "POST"])
def home() -> Response:
    """The page to paste into; with a text, the answer on it."""
    if request.method != "POST" and "q" not in request.args:
        return _empty()
    text = request.form.get("text", "") if request.method == "POST" else request.args.get("q", "")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    only_language = "switch" in request.form and "asked" not in request.form
    return _dynamic(text, answer=bool(text.strip()) and not only_language)


@kept
def _empty() -> str:
    return render_template("home.html", text="", answer=None)


def _dynamic(text: str, *, answer: bool) -> Response:
    """Return the page for a text that was pasted."""
    view = body = None
    if answer:
        found = ask(text)
        if found.lang == "zh" and chosen(request) is None:
            speak("zh")
        view = view_answer(found, text, current())
        shown = current_knowledge().corpus.get(view.first.id) if view.first else None
        body = _body(shown, view.first.template) if shown and view.first else None
    response = Response(render_template("home.html", text=text, answer=view, body=body), mimetype="text/html")
    response.headers["Content-Language"] = HTML_LANG[current()]
    response.headers["X-Robots-Tag"] = "noindex"
    return response


def _body(shown: Entry, template: str) -> Markup:
    """Return the part of an answer that is the same for everybody whose paste this template matched."""
    known = current_knowledge()
    case = fitting_case(known, shown, template)

    def render() -> str:
        return render_template("body.html", entry=view_entry(known, shown, current(), open_case=case))

    return kept_part(f"body {shown.id}/{case}", render)


@bp.get("/e/<slug>")
def entry(slug: str) -> BaseResponse:
    """An entry; a slug that leads to another one is sent there."""
    found = current_knowledge().corpus.get(slug)
    if found is None:
        abort(404)
    if found.id != slug:
        return redirect(url_for("pages.entry", slug=found.id), 301)
    return _entry(found)


@kept
def _entry(found: Entry) -> str:
    view = view_entry(current_knowledge(), found, current())
    data = structured_data(current_knowledge(), found, current(), view.heading, view.summary)
    return render_template("entry.html", entry=view, data=data)


@bp.post("/helped")
def helped() -> BaseResponse:
    """Count whether an answer helped, where the operator keeps that."""
    found = current_knowledge().corpus.get(request.form.get("entry", ""))
    told = request.form.get("helped")
    if not current_app.config["MISSES"] or found is None or told not in ("yes", "no"):
        abort(404)
    count_feedback()
    misses.count_helped(current_app.config["MISSES"], found.id, helped=told == "yes")
    return redirect(url_for("pages.entry", slug=found.id, _anchor="thanks"), 303)


@bp.get("/browse")
@kept
def browse() -> str:
    """All entries by topic, and all tags."""
    return render_template("browse.html", topics=current_knowledge().topics, tags=current_knowledge().tags)


@bp.get("/t/<topic>")
@kept
def topic(topic: str) -> str:
    """The entries of a topic."""
    return _list("topic", topic, current_knowledge().topics.get(topic))


@bp.get("/tag/<tag>")
@kept
def tag(tag: str) -> str:
    """The entries with a tag."""
    return _list("tag", tag, current_knowledge().tags.get(tag))


def _list(by: str, name: str, entries: list[Entry] | None) -> str:
    if not entries:
        abort(404)
    return render_template("list.html", by=by, name=name, entries=entries)
