"""Which of the two languages a page speaks, and its words: one catalogue file per language in `locale/`."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib import resources

from flask import Request, g, request
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header

from kb.entry import LANGUAGES, Lang

__all__ = ["HTML_LANG", "accepted", "catalogue", "chosen", "current", "speak", "topic_name", "translate"]

HTML_LANG: dict[Lang, str] = {"en": "en", "zh": "zh-Hans"}


@cache
def catalogue(lang: Lang) -> dict[str, str]:
    """Return the words of a language by key."""
    loaded: dict[str, str] = json.loads(resources.files("webapp").joinpath("locale", f"{lang}.json").read_text("utf-8"))
    return loaded


def chosen(req: Request) -> Lang | None:
    """Return the language that the address asks for by `?lang=`, or None."""
    if not req.query_string:
        return None
    asked = req.args.get("lang", "")
    return next((lang for lang in LANGUAGES if asked.lower().split("-")[0] == lang), None)


def current() -> Lang:
    """Return the language of this answer: the address's, what `speak` set, or the best of Accept-Language; English otherwise."""
    lang: Lang | None = g.get("lang")
    if lang is None:
        lang = g.lang = chosen(request) or accepted(request.headers.get("Accept-Language", ""))
    return lang


@lru_cache(maxsize=256)
def accepted(header: str) -> Lang:
    """Return the better of the two languages for an Accept-Language header."""
    best = parse_accept_header(header, LanguageAccept).best_match(LANGUAGES)
    return "zh" if best == "zh" else "en"


def speak(lang: Lang) -> None:
    """Let the rest of this request speak that language."""
    g.lang = lang


def translate(key: str, **values: object) -> str:
    """Return the text of that key in the current language, with `{values}` filled in. Raises KeyError for an unknown key."""
    text = catalogue(current())[key]
    return text.format_map(values) if values else text


def topic_name(topic: str) -> str:
    """Return what a topic is called in the current language: its folder's name where the catalogue has no other."""
    return catalogue(current()).get(f"topic.{topic}", topic)
