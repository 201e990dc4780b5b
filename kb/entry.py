"""What an entry is: typed, immutable data, read from Markdown by `kb.parse` and judged by `kb.check`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

__all__ = ["LANGUAGES", "Block", "Case", "Entry", "Fault", "Kind", "Lang", "Message", "Prose", "Text"]

Lang = Literal["en", "zh"]
Kind = Literal["error", "warning", "silent"]
LANGUAGES: tuple[Lang, ...] = ("en", "zh")


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Something wrong in an entry's file: where, the rule's number, what, and what to do."""

    path: str
    line: int
    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule} {self.what}"


@dataclass(frozen=True, slots=True)
class Text:
    """The same text in both languages."""

    en: str
    zh: str

    def __getitem__(self, lang: Lang) -> str:
        return self.en if lang == "en" else self.zh


@dataclass(frozen=True, slots=True)
class Message:
    """A wording of the error with typed placeholders, and the torch versions (a range such as `<1.5`) and the device it holds for; empty means any."""

    text: str
    torch: str = ""
    device: str = ""
    line: int = 1


@dataclass(frozen=True, slots=True)
class Prose:
    """One language's explanation, in Markdown: why it happens and how to fix it."""

    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class Block:
    """One program of an entry: its source and the line of the file at which its first line stands."""

    source: str
    line: int


@dataclass(frozen=True, slots=True)
class Case:
    """A repro and its fix, and what they need to run.

    `memory` and `shm` are bytes and `timeout` is seconds; None leaves them to the sandbox. `fresh` asks for a new interpreter. `image` is the
    container image that the entry's folder asks for.
    """

    entry: str
    name: str
    repro: Block
    fix: Block
    device: str = "cpu"
    gpus: int = 0
    os: str = ""
    shm: int | None = None
    memory: int | None = None
    timeout: float | None = None
    fresh: bool = False
    image: str = ""

    @property
    def id(self) -> str:
        """`slug`, or `slug/name` where the entry has several cases."""
        return f"{self.entry}/{self.name}" if self.name else self.entry


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the knowledge base. `id` is the file's name, `topic` the folder's."""

    id: str
    topic: str
    title: Text
    kind: Kind
    messages: tuple[Message, ...]
    aliases: dict[Lang, tuple[str, ...]]
    prose: dict[Lang, Prose]
    cases: tuple[Case, ...]
    explain: Text | None = None
    apis: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    path: Path = field(default=Path(), compare=False)
    source: str = field(default="", repr=False)
    """The file's text."""
