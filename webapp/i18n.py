"""The language of a page and its strings: one catalogue per language in `locale/`."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib import resources

from flask import g, request
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header

from kb.text.languages import LANGUAGES, Lang

__all__ = [
    "HTML_LANG",
    "catalogue",
    "current_language",
    "language_in_use",
    "preferred_language",
    "requested_language",
    "topic_name",
    "translate",
    "use_language",
]

HTML_LANG: dict[Lang, str] = {"en": "en", "zh": "zh-Hans"}


@cache
def catalogue(lang: Lang, name: str = "") -> dict[str, str]:
    """Return the strings of a language by key: those of all pages, or of the part called `name`."""
    file = f"{name}.{lang}.json" if name else f"{lang}.json"
    strings: dict[str, str] = json.loads(resources.files("webapp").joinpath("locale", file).read_text("utf-8"))
    return strings


def requested_language() -> Lang | None:
    """Return the language that the address asks for by `?lang=`, or None."""
    if not request.query_string:
        return None
    primary = request.args.get("lang", "").lower().split("-")[0]
    return next((lang for lang in LANGUAGES if lang == primary), None)


def current_language() -> Lang:
    """Return the language of this response: from `use_language`, the address, or Accept-Language; English otherwise."""
    lang: Lang | None = g.get("language")
    if lang is None:
        lang = g.language = requested_language() or preferred_language(request.headers.get("Accept-Language", ""))
    return lang


def language_in_use() -> Lang | None:
    """Return the language of this response, or None as long as nothing needed one."""
    lang: Lang | None = g.get("language")
    return lang


def use_language(lang: Lang) -> None:
    """Set the language of this response."""
    g.language = lang


@lru_cache(maxsize=256)
def preferred_language(accept_language: str) -> Lang:
    """Return the better of the two languages for an Accept-Language header."""
    best = parse_accept_header(accept_language, LanguageAccept).best_match(LANGUAGES)
    return "zh" if best == "zh" else "en"


def translate(key: str, **values: object) -> str:
    """Return the string of that key in the current language, with `{values}` filled in. Raises KeyError for an unknown key."""
    text = catalogue(current_language())[key]
    return text.format_map(values) if values else text


def topic_name(topic: str) -> str:
    """Return the name of a topic in the current language, or its folder's name where the catalogue has none."""
    return catalogue(current_language()).get(f"topic.{topic}", topic)
