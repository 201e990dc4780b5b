"""For search engines, feed readers, and assistants that read Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flask import Blueprint, Response, abort, render_template, url_for

from kb.corpus.entry import Entry
from kb.text.languages import LANGUAGES, Lang
from webapp.i18n import HTML_LANG, current_language
from webapp.services import current_snapshot
from webapp.snapshot import Snapshot
from webapp.urls import absolute_url, site_root

__all__ = ["bp", "last_verified", "structured_data"]

bp = Blueprint("discovery", __name__)
_MAX_FEED_ENTRIES = 50


def last_verified(snapshot: Snapshot, entry: Entry) -> str:
    """Return the day (UTC) on which one of the entry's cases last ran as it is written now; empty when none has."""
    return max((record.date for case in entry.cases for record in snapshot.ledgers.records(case)), default="")


def structured_data(snapshot: Snapshot, entry: Entry, lang: Lang, heading: str, summary: str) -> dict[str, Any]:
    """Return what a search engine reads of an entry: schema.org's TechArticle."""
    verified = last_verified(snapshot, entry)
    return {
        "@context": "https://schema.org",
        "@type": "TechArticle",
        "headline": heading,
        "alternativeHeadline": entry.title[lang],
        "description": summary,
        "inLanguage": HTML_LANG[lang],
        "keywords": [*entry.tags, *entry.apis],
        "url": absolute_url("pages.entry", slug=entry.id, lang=lang),
        **({"dateModified": verified} if verified else {}),
    }


@bp.get("/robots.txt")
def robots() -> Response:
    """Allow everything but the API, and name the sitemap."""
    api = url_for("api.entries").removesuffix("v1/entries")
    return _document(f"User-agent: *\nDisallow: {api}\nSitemap: {site_root()}{url_for('discovery.sitemap')}\n")


@bp.get("/sitemap.xml")
def sitemap() -> Response:
    """Every page in both languages."""
    snapshot = current_snapshot()
    pages: list[tuple[str, str]] = [(url_for(name), "") for name in ("pages.home", "pages.browse", "pages.versions")]
    pages += [(url_for("pages.topic", topic=topic), "") for topic in snapshot.topics]
    pages += [(url_for("pages.entry", slug=entry.id), last_verified(snapshot, entry)) for entry in snapshot.corpus]
    xml = render_template("sitemap.xml", root=site_root(), pages=pages, languages=LANGUAGES, html_lang=HTML_LANG)
    return _document(xml, "application/xml")


@bp.get("/feed.xml")
def feed() -> Response:
    """The entries verified last, as an Atom feed in the reader's language."""
    snapshot = current_snapshot()
    dated = sorted(((last_verified(snapshot, entry), entry.id, entry) for entry in snapshot.corpus), reverse=True)
    newest = [(entry, date) for date, _, entry in dated if date][:_MAX_FEED_ENTRIES]
    xml = render_template("feed.xml", root=site_root(), entries=newest, lang=current_language())
    response = _document(xml, "application/atom+xml")
    response.vary.add("Accept-Language")
    return response


@bp.get("/e/<slug>.md")
def markdown(slug: str) -> Response:
    """Return an entry as the Markdown that it is written in."""
    entry = current_snapshot().corpus.get(slug)
    if entry is None:
        abort(404)
    return _document(entry.source, "text/markdown")


@bp.get("/llms.txt")
def llms() -> Response:
    """List all entries for assistants, by topic, each with the address of its Markdown (the llms.txt convention)."""
    return _document("\n".join(_llms_lines(current_snapshot())) + "\n", "text/markdown")


def _llms_lines(snapshot: Snapshot) -> Iterable[str]:
    root = site_root()
    yield "# kb"
    yield ""
    yield "> PyTorch errors and silent mistakes: why they happen and what to change, each with a failing and a fixed program that a sandbox has run."
    yield ""
    yield f"Look up an error: POST its text as text/plain to {root}{url_for('api.lookup')}."
    for topic, entries in snapshot.topics.items():
        yield f"\n## {topic}\n"
        for entry in entries:
            message = f": {entry.messages[0].text}" if entry.messages else ""
            yield f"- [{entry.title.en}]({root}{url_for('discovery.markdown', slug=entry.id)}){message}"


def _document(text: str, mimetype: str = "text/plain") -> Response:
    response = Response(text, mimetype=mimetype)
    response.cache_control.public = True
    response.cache_control.max_age = 3600
    return response
