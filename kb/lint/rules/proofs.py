"""Rules for programs that could only look as if they proved something; `kb.lint.static_checks` finds what breaks them."""

from __future__ import annotations

from collections.abc import Iterator

from kb.corpus.entry import PROVED_BY_ASSERT, Case, Entry, Runnable
from kb.corpus.environments import modules_required
from kb.corpus.loader import Corpus
from kb.corpus.programs import imported_packages
from kb.lint.rules import Finding, rule
from kb.lint.static_checks.assertions import assertions, same_assert
from kb.lint.static_checks.checks import PACKAGES, check_program

__all__ = ["PROOF_RULES", "proof_findings"]

PROOF_RULES = ("KB021", "KB022", "KB023", "KB024", "KB025", "KB080", "KB081")
"""The rules that decide whether a case that passes has proved something; `kb verify` checks them as well."""


def proof_findings(entry: Entry, subject: Runnable) -> Iterator[tuple[int, str, str]]:
    """Yield (line of the file, rule, what) for each of these rules that a case or a check breaks."""
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


def _broken(entry: Entry, rule_id: str) -> Iterator[Finding]:
    for subject in entry.runnables:
        for line, broken, what in proof_findings(entry, subject):
            if broken == rule_id:
                yield line, what


@rule("KB021", "A fix has an assert, and each of its asserts can fail.")
def proves_nothing(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """No assert at all, or one whose form shows that it always holds: constants, an expression compared with itself."""
    return _broken(entry, "KB021")


@rule(
    "KB022",
    "The failing assert of a repro that prints no message, as of a silent pitfall or a symptom, is in its fix as well.",
)
def assert_shared(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """A run shows which of the asserts fails; before it, at least one has to be shared."""
    return _broken(entry, "KB022")


@rule("KB023", "A program ends by itself: no exit, no kill, no handler at exit.")
def early_end(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """`sys.exit(0)` before the assert would look like success."""
    return _broken(entry, "KB023")


@rule("KB024", "A program uses libraries as they are, and does not look into the interpreter that runs it.")
def looks_inside(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Frames, code from text, replaced functions and comparisons: with these a program could fake its result. Only listed modules are imported."""
    return _broken(entry, "KB024")


@rule("KB025", "A program neither hides nor handles warnings.")
def hides_warnings(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """To silence a warning is no fix, and a repro shows the library's own warning."""
    return _broken(entry, "KB025")


@rule("KB080", "The asserts of a fix are at its top level.")
def hidden_assert(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """In a function, a `try`, a `with` or a condition an assert may never run, or its failure may be caught; a main guard and a `for` loop are fine."""
    return _broken(entry, "KB080")


@rule("KB081", "A repro neither raises nor words nor prints an error itself.")
def own_error(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """The error has to come from the library: no `raise`, no exception that the program makes, no text that it gives to one."""
    return _broken(entry, "KB081")
