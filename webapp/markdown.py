"""Markdown of entries as safe HTML: rendered by the markdown package, then sanitized by nh3, because entries come from contributors."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import markdown
import nh3
from markupsafe import Markup

from kb.corpus.guidance import ENTRY_LINK
from kb.render.answer_html import with_code_spans

__all__ = ["link_entries", "render", "render_code_spans", "render_inline"]

_TAGS = {
    "p",
    "em",
    "strong",
    "code",
    "pre",
    "ul",
    "ol",
    "li",
    "a",
    "blockquote",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "br",
    "hr",
}
_EXTENSIONS = ("fenced_code", "tables", "sane_lists")
_INLINE_TAGS = {"em", "strong", "code"}


def link_entries(text: str, address: Callable[[str], str]) -> str:
    """Return Markdown whose links to the files of other entries lead to their pages, whose addresses the function gives by slug."""
    return ENTRY_LINK.sub(lambda link: f"]({address(link[2])})", text)


def render_code_spans(text: str) -> Markup:
    """Return text as HTML in which only code spans are marked up, because values from a paste may stand in it."""
    return Markup(with_code_spans(text))  # noqa: S704 - with_code_spans escapes each part


@lru_cache(maxsize=4096)
def render_inline(text: str) -> Markup:
    """Return one line of Markdown as HTML without links, to stand in a label or a heading."""
    html = markdown.markdown(text, output_format="html")
    return Markup(nh3.clean(html, tags=_INLINE_TAGS, attributes={}))  # noqa: S704 - sanitized by nh3


@lru_cache(maxsize=4096)
def render(text: str) -> Markup:
    """Return the Markdown as HTML. Nothing but text, lists, tables, code and links over http or https gets through."""
    html = markdown.markdown(text, extensions=list(_EXTENSIONS), output_format="html")
    clean = nh3.clean(
        html, tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https"}, link_rel="noopener noreferrer"
    )
    return Markup(clean)  # noqa: S704 - sanitized by nh3
