"""Markdown of entries as safe HTML: rendered by the markdown package, then sanitised, so that an entry cannot carry a script."""

from __future__ import annotations

from functools import lru_cache

import markdown
import nh3
from markupsafe import Markup

__all__ = ["render"]

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


@lru_cache(maxsize=4096)
def render(text: str) -> Markup:
    """Return the Markdown as HTML that holds nothing but text, lists, tables, code and links over http or https."""
    html = markdown.markdown(text, extensions=list(_EXTENSIONS), output_format="html")
    clean = nh3.clean(
        html, tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https"}, link_rel="noopener noreferrer"
    )
    return Markup(clean)  # noqa: S704 (sanitised in the line before)
