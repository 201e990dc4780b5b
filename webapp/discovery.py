"""For those who come from elsewhere: search engines, feed readers, and assistants that read Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flask import Blueprint, Response, abort, current_app, render_template, request, url_for

from kb.entry import LANGUAGES, Entry, Lang
from webapp.asking import current_knowledge
from webapp.knowledge import Knowledge
from webapp.language import HTML_LANG, current

__all__ = ["address", "alternates", "bp", "last_proof", "structured_data"]

bp = Blueprint("discovery", __name__)
_NEWEST = 50


def address(endpoint: str, **values: Any) -> str:
    """Return the public address of a page: absolute where the operator has named it (KB_WEB_URL), else from this site's root."""
    return str(current_app.config["URL"]).rstrip("/") + url_for(endpoint, **values)


def alternates(endpoint: str, **values: Any) -> list[tuple[str, str]]:
    """Return (language, address) of a page in both languages, and for readers of neither."""
    pages = [(HTML_LANG[lang], address(endpoint, **values | {"lang": lang})) for lang in LANGUAGES]
    return [*pages, ("x-default", pages[0][1])]


def last_proof(knowledge: Knowledge, entry: Entry) -> str:
    """Return the day (UTC) on which one of the entry's cases last ran as it is written now; empty when none has."""
    return max((found.date for case in entry.cases for found in knowledge.ledgers.records(case)), default="")


def structured_data(knowledge: Knowledge, entry: Entry, lang: Lang, heading: str, summary: str) -> dict[str, Any]:
    """Return what a search engine reads of an entry, after schema.org's TechArticle."""
    proven = last_proof(knowledge, entry)
    return {
        "@context": "https://schema.org",
        "@type": "TechArticle",
        "headline": heading,
        "alternativeHeadline": entry.title[lang],
        "description": summary,
        "inLanguage": HTML_LANG[lang],
        "keywords": [*entry.tags, *entry.apis],
        "url": address("pages.entry", slug=entry.id, lang=lang),
        **({"dateModified": proven} if proven else {}),
    }


@bp.get("/robots.txt")
def robots() -> Response:
    """Allow everything but the API, and name the sitemap."""
    return _text(f"User-agent: *\nDisallow: /api/\nSitemap: {_root()}{url_for('discovery.sitemap')}\n")


@bp.get("/sitemap.xml")
def sitemap() -> Response:
    """Every page in both languages."""
    known = current_knowledge()
    pages: list[tuple[str, dict[str, str], str]] = [("pages.home", {}, ""), ("pages.browse", {}, "")]
    pages += [("pages.topic", {"topic": topic}, "") for topic in known.topics]
    pages += [("pages.entry", {"slug": entry.id}, last_proof(known, entry)) for entry in known.corpus]
    return _text(
        render_template("sitemap.xml", root=_root(), pages=pages, languages=LANGUAGES, html_lang=HTML_LANG),
        "application/xml",
    )


@bp.get("/feed.xml")
def feed() -> Response:
    """The entries proven last, as an Atom feed in the reader's language."""
    known = current_knowledge()
    dated = sorted(((last_proof(known, entry), entry.id, entry) for entry in known.corpus), reverse=True)
    newest = [(entry, date) for date, _, entry in dated if date][:_NEWEST]
    page = render_template("feed.xml", root=_root(), entries=newest, lang=current())
    response = _text(page, "application/atom+xml")
    response.vary.add("Accept-Language")
    return response


@bp.get("/e/<slug>.md")
def markdown(slug: str) -> Response:
    """Return an entry as the Markdown that it is written in."""
    entry = current_knowledge().corpus.get(slug)
    if entry is None:
        abort(404)
    return _text(entry.source, "text/markdown")


@bp.get("/llms.txt")
def llms() -> Response:
    """List all entries for assistants, by topic, each with its Markdown's address (the llms.txt convention)."""
    return _text("\n".join(_llms_lines(current_knowledge())) + "\n", "text/markdown")


def _llms_lines(known: Knowledge) -> Iterable[str]:
    yield "# kb"
    yield ""
    yield "> PyTorch errors and silent mistakes: why they happen and what to change, each with a failing and a fixed program that a sandbox has run."
    yield ""
    yield f"Look up an error: POST its text as text/plain to {_root()}{url_for('api.lookup')}."
    for topic, entries in known.topics.items():
        yield f"\n## {topic}\n"
        for entry in entries:
            yield f"- [{entry.title.en}]({_root()}{url_for('discovery.markdown', slug=entry.id)})" + (
                f": {entry.messages[0].text}" if entry.messages else ""
            )


def _root() -> str:
    """Return what must stand before a path where only whole addresses are allowed; these answers are made anew for each request."""
    return str(current_app.config["URL"] or request.url_root).rstrip("/")


def _text(text: str, kind: str = "text/plain") -> Response:
    response = Response(text, mimetype=kind)
    response.headers["Cache-Control"] = "public, max-age=3600"
    response.add_etag()
    response.make_conditional(request)
    return response
