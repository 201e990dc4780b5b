"""A fault of a file, and how it is written for people, for a terminal and for a code host."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kb.corpus.files import named_path

__all__ = ["Diagnostic", "Diagnostics", "display_path", "escape", "github_annotation", "shortened"]


_LONGEST = 600
"""The longest sentence about a fault that is printed whole, in characters."""


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """Something wrong in a file: the path as it is shown, the line, the rule's number, what is wrong and what to do."""

    path: str
    line: int
    rule: str
    what: str

    def __str__(self) -> str:
        return escape(f"{self.path}:{self.line}: {self.rule} {shortened(self.what)}")


@dataclass(slots=True)
class Diagnostics:
    """Collects the diagnostics of one file while it is read."""

    path: str
    items: list[Diagnostic] = field(default_factory=list)

    def add(self, line: int, rule: str, what: str) -> None:
        """Add what is wrong at a line."""
        self.items.append(Diagnostic(self.path, line, rule, what))


def escape(text: str) -> str:
    r"""Return the text on one line without characters that a terminal or a log of a code host obeys: `\x1b`, `\n`, `\u202e`, `##[`."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return text.replace("##[", r"#\x23[")


def display_path(path: Path) -> str:
    """Return the path as a person would type it: relative to the working directory where it lies below.

    A link is shown as itself and not as what it leads to. Characters that a terminal or a log obeys are escaped.
    """
    directory, absolute = Path.cwd(), named_path(path)
    relative = absolute.relative_to(directory) if absolute.is_relative_to(directory) else absolute
    return escape(str(relative)).replace("::", r":\x3a")


def github_annotation(level: Literal["error", "warning", "notice"], path: str, line: int, title: str, text: str) -> str:
    """Return the workflow command that makes GitHub show a text at a line, or without a path beside the whole run.

    No name or text in it can be read as another command.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    place = {"file": path, "line": str(line)} if path else {}
    properties = {**place, "title": title}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {listed}::{_data(shortened(text))}"


def shortened(what: str, longest: int = _LONGEST) -> str:
    """Return a sentence without its middle if it is longer than `longest` characters: it may quote a value from a file, and what to do is at its end."""
    return what if len(what) <= longest else f"{what[: longest // 2]} … {what[-longest // 2 :]}"


def _data(text: str) -> str:
    return escape(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
