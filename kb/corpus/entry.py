"""What an entry is: typed, immutable data. `kb.corpus.parser` reads it from Markdown and `kb.lint.linter` checks it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kb.corpus.kinds import Kind
from kb.text.languages import Lang

__all__ = [
    "DEVICES",
    "PROVED_BY_ASSERT",
    "Bilingual",
    "Block",
    "Case",
    "ChangeItem",
    "Check",
    "Edit",
    "Entry",
    "Guidance",
    "Message",
    "Role",
    "Runnable",
    "is_slug",
]

PROVED_BY_ASSERT: tuple[Kind, ...] = ("silent", "symptom")
"""The kinds whose repros print no message of the entry: they end in an assert that fails, and that is in the fix as well."""

Role = Literal["repro", "fix", "check"]
"""What a program is for."""

DEVICES = ("cpu", "cuda", "mps", "xpu", "npu")
"""The devices that a program may need and a message may be printed for."""

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SLUG_LENGTH = 80


def is_slug(text: str) -> bool:
    """Return whether the text can be the name of an entry, a topic or a case: lower-case words joined by hyphens, at most 80 characters."""
    return len(text) <= _SLUG_LENGTH and _SLUG.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Bilingual:
    """The same text in both languages."""

    en: str
    zh: str

    def __getitem__(self, lang: Lang) -> str:
        return self.en if lang == "en" else self.zh


@dataclass(frozen=True, slots=True)
class Message:
    """A wording of the error with typed placeholders, and the torch versions (a range such as `<1.5`) and the device that print it; empty means any.

    `explain` is one line about the values that the placeholders stand for. `is_generic` says that any Python program may print it. `raised_in` are
    the files that raise it, and `raised_below` those of which a function is running then; without one of them among the frames the message says nothing,
    because other code prints it as well. `cause` is the number of the item of *What to change* that alone leads to this wording; 0 means any.
    `causes_by_values` has for each condition on the message's values the number of the item that they tell.
    """

    text: str
    torch: str = ""
    device: str = ""
    explain: Bilingual | None = None
    line: int = 1
    is_generic: bool = False
    raised_in: tuple[str, ...] = ()
    raised_below: tuple[str, ...] = ()
    cause: int = 0
    causes_by_values: dict[str, int] = field(default_factory=dict, hash=False)

    @property
    def files(self) -> tuple[str, ...]:
        """The files of which one has to be among the frames; none if the message says enough without."""
        return self.raised_in or self.raised_below


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one expression, as `kb.templates.code_change` reads it, which is that of a case.

    `message` are words of the messages for which it is the change; empty means all. `where` says of names of the pattern what they have to be.
    """

    case: str
    before: str
    after: str
    message: str = ""
    where: dict[str, str] = field(default_factory=dict)
    line: int = 1


@dataclass(frozen=True, slots=True)
class ChangeItem:
    """One cause: what the reader sees or did, and what to change, both in Markdown.

    `cases` are the names of the cases and checks that it leads to, `entries` the slugs of the entries.
    """

    cause: str
    change: str
    cases: tuple[str, ...]
    entries: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Guidance:
    """What a page says in one language: the causes with their changes, the commonest first, how to tell them apart, and why it happens."""

    items: tuple[ChangeItem, ...]
    how_to_tell: str
    why: str


@dataclass(frozen=True, slots=True)
class Block:
    """The source of one program, and the number of its first line in the file."""

    source: str
    line: int


@dataclass(frozen=True, slots=True)
class Runnable:
    """A case or a check: what its programs are called and need to run.

    `torch` is the range of versions for which it holds and `build` the build, `cpu`; empty means all. `memory` and `shm` are bytes and `timeout` is
    seconds; None means the sandbox's default. `fresh` asks for a new interpreter. `requires` are the packages that the
    entry names, `image` is the container image that the settings of its folder name, and `environments` is its folder
    where that has environments of its own.
    """

    entry: str
    name: str
    torch: str = ""
    build: str = ""
    device: str = "cpu"
    gpus: int = 0
    os: str = ""
    shm: int | None = None
    memory: int | None = None
    timeout: float | None = None
    fresh: bool = False
    image: str = ""
    environments: str = ""
    requires: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """`slug/name`."""
        return f"{self.entry}/{self.name}"

    @property
    def blocks(self) -> dict[Role, Block]:
        """The programs by role, in the order of the file."""
        raise NotImplementedError

    @property
    def line(self) -> int:
        """The line of the first fence, where the attributes stand."""
        return next(iter(self.blocks.values())).line - 1


@dataclass(frozen=True, slots=True)
class Case(Runnable):
    """A repro, which shows the mistake, and its fix."""

    repro: Block = field(kw_only=True)
    fix: Block = field(kw_only=True)

    @property
    def blocks(self) -> dict[Role, Block]:
        """The repro and the fix."""
        return {"repro": self.repro, "fix": self.fix}


@dataclass(frozen=True, slots=True)
class Check(Runnable):
    """A program that tells causes apart. It runs to its end, and what it prints is shown."""

    program: Block = field(kw_only=True)

    @property
    def blocks(self) -> dict[Role, Block]:
        """The program, whose role is `check`."""
        return {"check": self.program}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the knowledge base. `id` is the file's name, `topic` the folder's."""

    id: str
    topic: str
    title: Bilingual
    kind: Kind
    answer: Bilingual
    messages: tuple[Message, ...]
    aliases: dict[Lang, tuple[str, ...]]
    guidance: dict[Lang, Guidance]
    cases: tuple[Case, ...]
    checks: tuple[Check, ...] = ()
    inspect: str = ""
    """In which respect the operands of the failing line are compared, one of `kb.inspection.mismatch.ASPECTS`, or empty."""
    edits: tuple[Edit, ...] = ()
    apis: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    path: Path = field(default=Path(), compare=False)
    source: str = field(default="", repr=False)
    """The file's text."""

    @property
    def runnables(self) -> tuple[Runnable, ...]:
        """The cases, then the checks."""
        return (*self.cases, *self.checks)

    @property
    def named_causes(self) -> dict[str, int]:
        """The number of the item, from 1, of each message to which one item alone leads."""
        count = len(self.guidance["en"].items)
        return {message.text: message.cause for message in self.messages if 0 < message.cause <= count}

    @property
    def causes_by_values(self) -> dict[str, dict[str, int]]:
        """For each message whose values tell causes apart, the conditions and the number of the item, from 1, that each tells."""
        return {message.text: message.causes_by_values for message in self.messages if message.causes_by_values}

    def alias_keys(self, lang: Lang) -> list[str]:
        """Return the aliases of a language as they are compared: without case and outer spaces."""
        return [alias.strip().casefold() for alias in self.aliases[lang]]

    def prose(self, lang: Lang) -> str:
        """Return all that the page says in one language, in Markdown, without the title."""
        guidance = self.guidance[lang]
        items = [f"{item.cause}: {item.change}" for item in guidance.items]
        return "\n\n".join(filter(None, [self.answer[lang], *items, guidance.how_to_tell, guidance.why]))
