"""The view of a name's history over the releases of its package: plain data in one language for the page, and the API's document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from kb.record.name_errors import explain_missing_name
from kb.record.name_history import NameHistory
from kb.record.ranges import VersionRange
from kb.record.sentences import answer_sentences, range_text
from kb.text.languages import Lang
from webapp.answer_view import with_code

__all__ = ["NameView", "ReleaseMark", "name_document", "view_missing_name", "view_name"]


class ReleaseMark(NamedTuple):
    """A minor release in a timeline: whether it `has` the name or `lacks` it, `deprecated` where it warns, `removed` where it only raises an error."""

    version: str
    state: str


class NameView(NamedTuple):
    """A name in one language. `parameters` are (name, releases in words), those of every release without words.

    `replacement_source` is an address, or empty where the package itself says what replaces the name.
    """

    name: str
    kind: str
    package: str
    ranges: str
    timeline: list[ReleaseMark]
    defined_in: str
    deprecated: str
    notice: str
    removed: str
    removal: str
    replacement: str
    replacement_source: str
    moved_to: tuple[str, ...]
    parameters: list[tuple[str, str]]
    is_dynamic: bool
    first: str
    last: str
    releases: int


def view_missing_name(name: str, lang: Lang) -> Markup:
    """Return what the record says of a name that no release has, empty if that is nothing."""
    answer = explain_missing_name(name)
    return with_code(("" if lang == "zh" else " ").join(answer_sentences(answer, lang))) if answer else Markup()


def view_name(history: NameHistory, lang: Lang) -> NameView:
    """Return the view of a history."""
    states = {
        **dict.fromkeys(_versions(history.versions, history.ranges), "has"),
        **dict.fromkeys(_versions(history.versions, history.deprecated), "deprecated"),
        **dict.fromkeys(_versions(history.versions, history.removed), "removed"),
    }
    is_elsewhere = history.defined_in != history.name and not history.name.startswith(f"{history.defined_in}.")
    source = history.replacement_source
    return NameView(
        name=history.name,
        kind=history.kind,
        package=history.package,
        ranges=range_text(history.ranges, lang),
        timeline=[ReleaseMark(version, states.get(version, "lacks")) for version in history.versions],
        defined_in=history.defined_in if is_elsewhere else "",
        deprecated=range_text(history.deprecated, lang) if history.deprecated else "",
        notice=history.notice if history.deprecated else "",
        removed=range_text(history.removed, lang) if history.removed else "",
        removal=history.removal,
        replacement=history.replacement,
        replacement_source=source if source.startswith("https://") else "",
        moved_to=history.moved_to,
        parameters=[
            (parameter.name, "" if parameter.ranges == history.ranges else range_text(parameter.ranges, lang))
            for parameter in history.parameters
        ],
        is_dynamic=history.is_dynamic,
        first=history.versions[0],
        last=history.versions[-1],
        releases=len(history.versions),
    )


def name_document(history: NameHistory) -> dict[str, Any]:
    """Return a history for the API. A range's `gone` is the first release without the name, empty where the newest still has it."""
    return {
        "name": history.name,
        "package": history.package,
        "kind": history.kind,
        "releases": list(history.versions),
        "ranges": _ranges(history.ranges),
        "deprecated": _ranges(history.deprecated),
        "notice": history.notice,
        "removed": _ranges(history.removed),
        "removal": history.removal,
        "replacement": history.replacement,
        "replacement_source": history.replacement_source,
        "defined_in": history.defined_in,
        "moved_to": list(history.moved_to),
        "parameters": [
            {"name": parameter.name, "ranges": _ranges(parameter.ranges)} for parameter in history.parameters
        ],
        "is_dynamic": history.is_dynamic,
    }


def _ranges(ranges: Sequence[VersionRange]) -> list[dict[str, Any]]:
    return [part._asdict() for part in ranges]


def _versions(versions: Sequence[str], ranges: Sequence[VersionRange]) -> set[str]:
    """Return the versions that the ranges hold."""
    position = {version: number for number, version in enumerate(versions)}
    return {version for part in ranges for version in versions[position[part.since] : position[part.until] + 1]}
