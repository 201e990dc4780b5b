"""The documents of entries: typed dictionaries that pages, terminals, notebooks and JSON show."""

from __future__ import annotations

from typing import TypedDict

from kb.templates.conditions import ValueCondition
from kb.text.languages import Lang

__all__ = [
    "Badge",
    "CaseDocument",
    "ChangeDocument",
    "CheckDocument",
    "EditDocument",
    "EntryDocument",
    "EntryHead",
    "MessagesDocument",
    "RelatedEntry",
    "RemedyDocument",
    "RunnableDocument",
]


class Badge(TypedDict):
    """Where and when a case was verified. `gpu` names model, driver and CUDA version, or is empty; `packages` are the versions of what its entry requires."""

    torch: str
    packages: dict[str, str]
    device: str
    date: str
    gpu: str


class RunnableDocument(TypedDict):
    """What a case and a check have in common: what the programs need to run, and where they were verified."""

    id: str
    name: str
    torch: str
    device: str
    gpus: int
    os: str
    state: str
    badges: list[Badge]


class RemedyDocument(TypedDict):
    """A difference without its asserts, line by line with its mark; and the asserts, which prove it."""

    diff: list[str]
    check: str


class CaseDocument(RunnableDocument):
    """One case: both programs, their difference, and what of it is the remedy.

    `last_lines` are the last errors that the repro printed on the releases of torch that ran it, the newest release first, and `messages` those of
    the entry that it printed on any of them.
    """

    repro: str
    fix: str
    diff: list[str]
    remedy: RemedyDocument
    last_lines: list[str]
    messages: list[str]


class CheckDocument(RunnableDocument):
    """A program that tells causes apart, and what it printed last time."""

    program: str
    printed: str


class ChangeDocument(TypedDict):
    """One item of *What to change*, in one language: the cause, the change, and what it leads to, by names of cases and slugs of entries."""

    cause: str
    change: str
    cases: list[str]
    entries: list[str]


class EditDocument(TypedDict):
    """A change of one expression, which is that of a case, words of its messages, and what names of its pattern have to be."""

    case: str
    before: str
    after: str
    message: str
    where: dict[str, str]


class RelatedEntry(TypedDict):
    """An entry that another one names as related."""

    id: str
    title: dict[Lang, str]


class EntryHead(TypedDict):
    """What a list of matches or entries needs of one."""

    id: str
    topic: str
    kind: str
    title: dict[Lang, str]
    answer: dict[Lang, str]
    tags: list[str]
    also: list[str]


class MessagesDocument(TypedDict):
    """What a match of an entry's messages needs of them. `explanations` has the line of each message that explains its values.

    `generic` are the messages that any Python program may print. `raised_in` has the files of each message that counts only where one of them raised it,
    and `raised_below` those of each that counts only where a function of one of them was running.
    """

    kind: str
    explanations: dict[str, dict[Lang, str]]
    generic: list[str]
    raised_in: dict[str, list[str]]
    raised_below: dict[str, list[str]]


class EntryDocument(EntryHead):
    """One entry as pages and terminals show it.

    `causes` has the number of the item, from 1, of each message to which one item alone leads, and `causes_by_values` the conditions of each whose values
    tell the item.
    """

    explanations: dict[str, dict[Lang, str]]
    items: dict[Lang, list[ChangeDocument]]
    causes: dict[str, int]
    causes_by_values: dict[str, list[ValueCondition]]
    how_to_tell: dict[Lang, str]
    why: dict[Lang, str]
    messages: list[str]
    inspect: str
    edits: list[EditDocument]
    apis: list[str]
    sources: list[str]
    related: list[RelatedEntry]
    cases: list[CaseDocument]
    checks: list[CheckDocument]
