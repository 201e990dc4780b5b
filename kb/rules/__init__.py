"""The rules that an entry must keep, each with a number, one sentence, and a function that finds what breaks it.

KB001 to KB011 are the structure of a file and are reported by `kb.parse`; the rest look at a whole entry or at the whole corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kb.corpus import Corpus
from kb.entry import Entry

__all__ = ["ELSEWHERE", "RULES", "STRUCTURE", "Finding", "Rule", "all_sentences", "line_of", "load_rules", "rule"]

Finding = tuple[int, str]
"""A line of the file, and what is wrong there and what to do."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A numbered rule; `find` yields what breaks it in an entry, given the corpus around it."""

    id: str
    sentence: str
    find: Callable[[Entry, Corpus], Iterator[Finding]]


RULES: dict[str, Rule] = {}

ELSEWHERE = {
    "KB037": "A translation is not left behind: who changes one language touches the other. Judged against a revision: kb check --base.",
    "KB043": "A message matches nothing that another entry's repro printed, going by the ledgers.",
    "KB044": "A message's range of versions holds for every version that a ledger shows to print it.",
    "KB050": "An exemption names a rule and an entry that break without it, and gives its reason.",
    "KB051": "A folder's kb.yaml holds nothing but its name and its sandbox image.",
}
"""Rules that need more than an entry and its corpus."""

STRUCTURE = {
    "KB001": "A file can be read and is UTF-8.",
    "KB002": "A file's name is a slug: lower-case words joined by hyphens.",
    "KB003": "Front matter is there, closed, and YAML without a key that stands twice.",
    "KB004": "Front matter keeps to the JSON Schema.",
    "KB005": "The headings are the seven of the format, in order.",
    "KB006": "Text stands under each heading.",
    "KB007": "Every fenced block is closed.",
    "KB008": "A block under Run it says what it is, and its attributes are known.",
    "KB009": "Every repro has its fix, every fix its repro, and no name is used twice.",
    "KB010": "Every program is Python.",
    "KB011": "No two entries have the same slug.",
}


def rule(
    id_: str, sentence: str
) -> Callable[[Callable[[Entry, Corpus], Iterator[Finding]]], Callable[[Entry, Corpus], Iterator[Finding]]]:
    """Register the decorated function as the rule of that number."""

    def register(find: Callable[[Entry, Corpus], Iterator[Finding]]) -> Callable[[Entry, Corpus], Iterator[Finding]]:
        assert id_ not in RULES, id_
        RULES[id_] = Rule(id_, sentence, find)
        return find

    return register


def load_rules() -> dict[str, Rule]:
    """Import the modules that register rules; return all rules by number."""
    from kb.rules import corpus, messages, programs, prose  # noqa: F401 - importing registers

    return dict(sorted(RULES.items()))


def all_sentences() -> dict[str, str]:
    """Return the sentence of every rule by number."""
    return dict(
        sorted((STRUCTURE | ELSEWHERE | {name: found.sentence for name, found in load_rules().items()}).items())
    )


def line_of(entry: Entry, start: str) -> int:
    """Return the line of the entry's file that begins like this, 1 where none does."""
    return next((number for number, line in enumerate(entry.source.split("\n"), 1) if line.startswith(start)), 1)
