"""Read YAML from strangers in time and memory linear in its length: plain data only, with the line of every value.

The data is built from the parser's events instead of by a loader, because a loader recurses into nested values, follows aliases and obeys tags.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import yaml
from yaml.resolver import Resolver

from kb.corpus.characters import FORBIDDEN

__all__ = ["LOADERS", "Document", "KeyPath", "YamlError", "read_yaml"]

KeyPath = tuple[str | int, ...]
"""The keys and indexes that lead from the whole document to a value."""

LOADERS: tuple[type[Any], ...] = (*([yaml.CSafeLoader] if yaml.__with_libyaml__ else []), yaml.SafeLoader)
"""The parsers that can be used: libyaml where PyYAML was built with it, which takes a tenth of the time, and PyYAML's own."""

_MAX_DEPTH = 12
_TOO_DEEP = f"values are nested more than {_MAX_DEPTH} deep; write them flat"
_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[+-]?[0-9]{1,17}\.[0-9]{0,17}(e[+-]?[0-9]{1,3})?")
_TAG = "tag:yaml.org,2002:"
_CONSTANTS = {"null": None, "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_AMBIGUOUS = {
    "int": "a number that YAML readers do not agree on",
    "float": "a number that YAML readers do not agree on",
    "timestamp": "a date for YAML",
    "merge": "an instruction for YAML",
    "value": "an instruction for YAML",
}


class YamlError(Exception):
    """The text is no YAML, or more than is accepted here. `line` counts from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


class Document(NamedTuple):
    """What a text says: dictionaries with text as keys, lists, texts, numbers, booleans and None.

    `lines` has the line of each value. `problems` are (line, sentence) for values that were read as text although they are ambiguous, and for
    keys that stand twice, of which the last is kept.
    """

    data: Any
    lines: dict[KeyPath, int]
    problems: list[tuple[int, str]]


def read_yaml(text: str, *, first_line: int = 1, max_values: int = 20_000, loader: type[Any] = LOADERS[0]) -> Document:
    """Return the one document in the text, whose first line has the number `first_line`; an empty text is None.

    Raises `YamlError` for what is no YAML, for aliases, for more than `max_values` keys and values, and for values nested too deeply.
    """
    builder = _Builder(first_line, max_values)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "a character that YAML does not allow"
        # newer releases of libyaml have a bound of their own
        what = _TOO_DEEP if "nesting depth" in problem else f"no YAML ({problem})"
        raise YamlError(first_line + (mark.line if mark else 0), what) from error
    except (UnicodeError, OverflowError, ValueError) as error:
        raise YamlError(first_line, "no YAML (it names a character that does not exist)") from error
    return Document(builder.data, builder.lines, builder.problems)


class _Container:
    """A list or a mapping that is being read, and for a mapping the key whose value comes next."""

    def __init__(self, data: list[Any] | dict[str, Any], path: KeyPath) -> None:
        self.data = data
        self.path = path
        self.key: str | None = None
        self.key_line = 0


class _Builder:
    """Builds a document from the events of the parser."""

    def __init__(self, first_line: int, max_values: int) -> None:
        self.data: Any = None
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[tuple[int, str]] = []
        self._first_line = first_line
        self._values_left = max_values
        self._open: list[_Container] = []
        self._resolver = Resolver()
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        """Add what the next event says."""
        line = self._first_line + (event.start_mark.line if event.start_mark else 0)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            self._start(event, line)
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            self._open.pop()
        elif isinstance(event, yaml.AliasEvent):
            raise YamlError(line, f"*{event.anchor} repeats another value; write it out")
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise YamlError(line, "a second document; keep one")

    def _start(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent, line: int) -> None:
        if len(self._open) == _MAX_DEPTH:
            raise YamlError(line, _TOO_DEEP)
        self._refuse_tag(event.tag, line)
        if self._is_key():
            raise YamlError(line, "a key that is no text; write key: value")
        data: list[Any] | dict[str, Any] = [] if isinstance(event, yaml.SequenceStartEvent) else {}
        path = self._add(data, line)
        self._open.append(_Container(data, path))

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        self._refuse_tag(event.tag, line)
        text: str = event.value
        if forbidden := FORBIDDEN.search(text):
            self.problems.append((line, f"a text holds the character U+{ord(forbidden.group()):04X}; take it out"))
            text = FORBIDDEN.sub("", text)
        if self._is_key():
            self._key(text, line)
        else:
            self._add(self._resolve(text, line) if event.implicit[0] else text, line)

    def _is_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].data, dict) and self._open[-1].key is None

    def _key(self, key: str, line: int) -> None:
        mapping = self._open[-1]
        if key in mapping.data:
            self.problems.append((line, f"{key!r} is there twice; keep one"))
        mapping.key, mapping.key_line = key, line

    def _add(self, value: Any, line: int) -> KeyPath:
        """Put a value where it belongs and return the path that leads there."""
        self._values_left -= 1
        if self._values_left < 0:
            raise YamlError(line, "too many values; divide the file")
        path: KeyPath = ()
        if not self._open:
            self.data = value
        else:
            parent = self._open[-1]
            if isinstance(parent.data, list):
                path = (*parent.path, len(parent.data))
                parent.data.append(value)
            else:
                assert parent.key is not None
                path = (*parent.path, parent.key)
                parent.data[parent.key] = value
                line, parent.key = parent.key_line, None
        self.lines[path] = line
        return path

    def _resolve(self, text: str, line: int) -> Any:
        """Return what a plain scalar means; what YAML readers take for different things is a problem and stays text."""
        tag: str = self._resolver.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        kind = tag.removeprefix(_TAG)
        if kind == "str":
            return text
        if kind in ("null", "bool"):
            return _CONSTANTS.get(text.lower())
        if kind == "int" and _INTEGER.fullmatch(text):
            return int(text)
        if kind == "float" and _FLOAT.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        self.problems.append((line, f"{text[:40]!r} is {_AMBIGUOUS[kind]}; put it in quotes"))
        return text

    def _refuse_tag(self, tag: str | None, line: int) -> None:
        if tag is not None and tag != "!":
            self.problems.append((line, f"the tag {tag[:40]!r} is not obeyed; write the plain value"))
