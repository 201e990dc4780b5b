"""Rules for programs that could only look as if they proved something; `kb.lint.static_checks` finds what breaks them."""

from __future__ import annotations

from collections.abc import Iterator

from kb.corpus.entry import PROVED_BY_ASSERT, Case, Entry, Runnable
from kb.corpus.environments import modules_required
from kb.corpus.loader import Corpus
from kb.corpus.programs import imported_packages
from kb.lint.rules import rules
from kb.lint.static_checks.assertions import assertions, same_assert
from kb.lint.static_checks.checks import PACKAGES, check_program

__all__ = ["PROOF_RULES", "proof_findings"]

PROOF_RULES = {
    "KB021": (
        "A fix has an assert, and each of its asserts can fail.",
        "No assert at all, or one whose form shows that it always holds: constants, an expression compared with itself.",
    ),
    "KB022": (
        "The failing assert of a repro that prints no message, as of a silent pitfall or a symptom, is in its fix as well.",
        "A run shows which of the asserts fails; before it, at least one has to be shared.",
    ),
    "KB023": (
        "A program ends by itself: no exit, no kill, no handler at exit.",
        "`sys.exit(0)` before the assert would look like success.",
    ),
    "KB024": (
        "A program uses libraries as they are, and does not look into the interpreter that runs it.",
        "Frames, code from text, replaced functions and comparisons: with these a program could fake its result. Only listed modules are imported.",
    ),
    "KB025": (
        "A program neither hides nor handles warnings.",
        "To silence a warning is no fix, and a repro shows the library's own warning.",
    ),
    "KB080": (
        "The asserts of a fix are at its top level.",
        "In a function, a `try`, a `with` or a condition an assert may never run, or its failure may be caught; a main guard and a `for` loop are fine.",
    ),
    "KB081": (
        "A repro neither raises nor words nor prints an error itself.",
        "The error has to come from the library: no `raise`, no exception that the program makes, no text that it gives to one.",
    ),
}
"""The rules that decide whether a case that passes has proved something, each with what explains it; `kb verify` checks them as well."""


def proof_findings(entry: Entry, subject: Runnable) -> Iterator[tuple[int, str, str]]:
    """Yield (line of the file, rule, what) for whatever breaks one of these rules in a case or a check."""
    blocks = subject.blocks.items()
    packages = PACKAGES
    modules = None if subject.image else modules_required(subject)
    if modules is not None:
        packages = PACKAGES | modules
    elif subject.image or subject.requires:
        packages = packages.union(*(imported_packages(block.source) for _, block in blocks))
    for role, block in blocks:
        for finding in check_program(block.source, role, packages):
            yield block.line + finding.line - 1, finding.rule, finding.what
    if isinstance(subject, Case):
        yield from _assert_findings(entry, subject)


def _assert_findings(entry: Entry, case: Case) -> Iterator[tuple[int, str, str]]:
    if not assertions(case.fix.source):
        yield case.fix.line, "KB021", "the fix has no assert; end it by asserting what is right now"
    if entry.kind in PROVED_BY_ASSERT and not any(
        same_assert(first, second) for first in assertions(case.repro.source) for second in assertions(case.fix.source)
    ):
        yield case.repro.line, "KB022", "no assert of this repro is in its fix; use the very same assert in both"


@rules(PROOF_RULES)
def proofs(entry: Entry, _corpus: Corpus) -> Iterator[tuple[str, int, str]]:
    """Yield what breaks one of these rules in the programs of an entry."""
    for subject in entry.runnables:
        for line, rule, what in proof_findings(entry, subject):
            yield rule, line, what
