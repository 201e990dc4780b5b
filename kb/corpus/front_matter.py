"""The front matter of an entry: YAML between two lines `---`, checked against the JSON Schema that editors use as well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationErrorKind

from kb.corpus.bounded_yaml import Document, KeyPath, YamlError, read_yaml
from kb.corpus.diagnostic import Diagnostics, shortened
from kb.text.languages import LANGUAGES

__all__ = ["FrontMatter", "completed", "read_front_matter", "schema"]

_MAX_VALUES = 2000
"""The most values in front matter. The fullest that ships has 127."""

_LONGEST_MESSAGE = 160
"""The longest sentence of the validator that is shown whole: it quotes the value that is wrong."""


_TOO_SHORT = (ValidationErrorKind.MinLength, ValidationErrorKind.MinItems)
"""What the schema calls too short is always empty."""


class FrontMatter(NamedTuple):
    """What front matter says, the line of each value, and the index of the first line after it."""

    data: dict[str, Any]
    lines: dict[KeyPath, int]
    end: int


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of the front matter."""
    loaded: dict[str, Any] = json.loads(resources.files("kb.corpus").joinpath("schema.json").read_text("utf-8"))
    return loaded


def read_front_matter(lines: list[str], diagnostics: Diagnostics) -> FrontMatter:
    """Return the front matter that a file's lines begin with; where there is none that can be read, it is empty and the reason a diagnostic."""
    if lines[0].rstrip() != "---":
        diagnostics.add(1, "KB003", "no front matter; begin the file with a line --- and close it with another")
        return FrontMatter({}, {}, 0)
    closing = next((index for index, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if closing is None:
        diagnostics.add(1, "KB003", "front matter is not closed; put a line --- after it")
        return FrontMatter({}, {}, len(lines))
    try:
        document = read_yaml("\n".join(lines[1:closing]), first_line=2, max_values=_MAX_VALUES)
    except YamlError as error:
        diagnostics.add(error.line, "KB003", f"front matter: {error}; quote texts that hold : # or backticks")
        return FrontMatter({}, {}, closing + 1)
    _report(document, diagnostics)
    return FrontMatter(document.data if isinstance(document.data, dict) else {}, document.lines, closing + 1)


def completed(data: dict[str, Any], slug: str) -> dict[str, Any]:
    """Return front matter without the values that the schema refuses and with those that it requires.

    The title of an entry that has none yet is its slug.
    """
    data = _without_errors(data)
    data = {"kind": "error", "tags": [], "sources": [], **data}
    data["title"] = dict.fromkeys(LANGUAGES, slug) | data.get("title", {})
    data["answer"] = dict.fromkeys(LANGUAGES, "") | data.get("answer", {})
    data["aliases"] = {lang: [] for lang in LANGUAGES} | data.get("aliases", {})
    return data


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema(), pattern_options=RegexOptions())


def _report(document: Document, diagnostics: Diagnostics) -> None:
    """Add a diagnostic for everything in the document that is ambiguous or that the schema refuses."""
    for line, problem in document.problems:
        diagnostics.add(line, "KB003", f"front matter: {problem}")
    if not isinstance(document.data, dict):
        diagnostics.add(2, "KB003", "front matter is no mapping; write key: value lines")
        return
    for error in _validator().iter_errors(document.data):
        path: KeyPath = tuple(error.instance_path)
        key = ".".join(map(str, path))
        message = "empty" if isinstance(error.kind, _TOO_SHORT) else error.message
        sentence = shortened(f"{key}: {message}" if key else message, _LONGEST_MESSAGE)
        diagnostics.add(document.lines.get(path, 2), "KB004", f"{sentence}; see docs/entry-format.md")
    for path, text in _texts(document.data, ()):
        if "\n" in text and path[0] != "messages":
            diagnostics.add(
                document.lines[path], "KB004", f"{'.'.join(map(str, path))}: a text of several lines; write it in one"
            )


def _texts(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Yield each text in the data with the path that leads to it."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _texts(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _texts(child, (*path, index))


def _without_errors(data: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the data without the values that the schema refuses."""
    errors = _validator().iter_errors(data)
    required = ValidationErrorKind.Required
    refused = {tuple(error.instance_path) for error in errors if not isinstance(error.kind, required)} - {()}
    known = set(schema()["properties"])
    return {
        key: _copy_without(value, (key,), refused)
        for key, value in data.items()
        if key in known and (key,) not in refused
    }


def _copy_without(value: Any, path: KeyPath, refused: set[KeyPath]) -> Any:
    if isinstance(value, dict):
        return {
            key: _copy_without(child, (*path, key), refused)
            for key, child in value.items()
            if (*path, key) not in refused
        }
    if isinstance(value, list):
        return [_copy_without(child, (*path, i), refused) for i, child in enumerate(value) if (*path, i) not in refused]
    return value
