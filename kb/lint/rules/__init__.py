"""The rules that an entry must keep, each with a number, one sentence, and a function that finds what breaks it.

The structure of a file is checked by `kb.corpus`, which reports KB001 to KB011 and KB061; the other rules look at a whole entry or at the whole corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kb.corpus.entry import Entry
from kb.corpus.loader import Corpus

__all__ = [
    "CHECKS",
    "ELSEWHERE",
    "NUMBERING",
    "RULES",
    "STRUCTURE",
    "Finding",
    "Rule",
    "all_sentences",
    "line_containing",
    "line_of",
    "load_rules",
    "rule",
    "rules",
]

Finding = tuple[int, str]
"""A line of the file, and a sentence that says what is wrong there and what to do."""


Check = Callable[[Entry, Corpus], Iterator[Finding]]
"""Yields what breaks one rule in an entry, given the corpus around it."""

CheckOfSeveral = Callable[[Entry, Corpus], Iterator[tuple[str, int, str]]]
"""Yields what breaks any of several rules in an entry: (rule, line, what)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A numbered rule, in one sentence, and a line about it for its page."""

    id: str
    sentence: str
    explanation: str


RULES: dict[str, Rule] = {}
CHECKS: list[CheckOfSeveral] = []
"""The functions that check an entry by the rules."""

NUMBERING = {
    "KB001–KB011": "the structure of a file",
    "KB012–KB019": "messages",
    "KB020–KB029": "programs",
    "KB030–KB037": "text in both languages",
    "KB040–KB046": "entries beside each other, the ledgers and the record of packages",
    "KB050–KB053": "the other files of a folder of entries",
    "KB060–KB071": "what a reader is told to do: answer, items, checks, edits",
    "KB080–KB082": "programs that could only look as if they proved something (with KB021–KB025)",
    "KB090": "what programs require",
}
"""What the numbers of rules stand for. A number is never given to another rule, because exemptions name it."""

ELSEWHERE = {
    "KB037": "A translation is not left behind: who changes one language touches the other. Judged against a revision: kb check --base.",
    "KB043": "A message matches nothing that another entry's repro printed, going by the ledgers.",
    "KB044": "A range of versions holds for every version on which a ledger shows the message to be printed or the case to pass.",
    "KB047": "A message that names its cause is printed by no program of another cause, going by the ledgers, unless with a fuller message.",
    "KB045": "A message's range of versions leaves out no release of torch whose code prints it, going by the record of packages.",
    "KB050": "An exemption names a rule and an entry that break without it, and gives its reason.",
    "KB051": "A folder's kb.yaml holds nothing but its name and its sandbox image.",
    "KB052": "A ledger is what kb verify --record writes: a version of torch, a device, and a record for each case.",
    "KB082": "A fix and a check emit no warning. Judged where they run: kb verify.",
    "KB053": "An environment is a definition and a lock file that holds versions with hashes and nothing else.",
}
"""Rules that need more than an entry and its corpus."""

STRUCTURE = {
    "KB001": "A file can be read: a regular file of at most 64 KiB inside its folder, UTF-8, no line over 2,000 characters, no control characters.",
    "KB002": "The names of a file and of its topic are slugs: lower-case words joined by hyphens, at most 80 characters.",
    "KB003": "Front matter is there, closed, and plain YAML: no key twice, no alias, no tag, no date or number that readers take for different things.",
    "KB004": "Front matter keeps to the JSON Schema.",
    "KB005": "The headings are those of the format, in order.",
    "KB006": "There is text under each heading, and neither it nor the answer says TODO.",
    "KB007": "Every fenced block is closed.",
    "KB008": "A block under Run it says what it is, and its attributes are known.",
    "KB009": "Every program is under the heading of its case: a repro with its fix, or a check; no name is used twice.",
    "KB010": "Every program is Python, and nested at most 60 deep.",
    "KB011": "No two entries have the same slug.",
    "KB061": "An item of What to change is one line: a cause in bold, a colon, the change, and a link to its case.",
}


def rule(id_: str, sentence: str) -> Callable[[Check], Check]:
    """Register the decorated function as the check of one rule; its docstring explains the rule."""

    def register(check: Check) -> Check:
        rules({id_: (sentence, (check.__doc__ or "").strip())})(
            lambda entry, corpus: ((id_, line, what) for line, what in check(entry, corpus))
        )
        return check

    return register


def rules(texts: Mapping[str, tuple[str, str]]) -> Callable[[CheckOfSeveral], CheckOfSeveral]:
    """Register the decorated function as the check of several rules, whose sentences and explanations are given by number."""

    def register(check: CheckOfSeveral) -> CheckOfSeveral:
        assert RULES.keys().isdisjoint(texts), texts
        RULES.update({id_: Rule(id_, *text) for id_, text in texts.items()})
        CHECKS.append(check)
        return check

    return register


def load_rules() -> dict[str, Rule]:
    """Import the modules that register rules; return all rules by number."""
    from kb.lint.rules import corpus, guidance, messages, programs, proofs, prose  # noqa: F401 - importing registers

    return dict(sorted(RULES.items()))


def all_sentences() -> dict[str, str]:
    """Return the sentence of every rule by number."""
    return dict(sorted((STRUCTURE | ELSEWHERE | {id_: rule.sentence for id_, rule in load_rules().items()}).items()))


def line_containing(entry: Entry, part: str) -> int:
    """Return the number of the first line of the entry's file that contains this, 1 where none does."""
    return next((number for number, line in enumerate(entry.source.split("\n"), 1) if part in line), 1)


def line_of(entry: Entry, start: str) -> int:
    """Return the number of the first line of the entry's file that begins like this, 1 where none does."""
    return next((number for number, line in enumerate(entry.source.split("\n"), 1) if line.startswith(start)), 1)
