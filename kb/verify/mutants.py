"""Changed fixes that must fail: they show that a fix's asserts can fail, and that its changes are what removes the error.

A *negated* mutant has one assert turned round and must end in an AssertionError of that very assert. A *restored* mutant is the fix with all its changes
taken back except for its asserts, and must bring the repro's outcome back. The asserts come last, so that none of them can fail before.

Mutants are written from syntax trees, without comments, so that no line or size of a file tells a program which of the texts it is. A restored mutant is
also longer than the fix where the fix is longer than the repro, because a program could take the longer one for the fix.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kb.corpus.entry import PROVED_BY_ASSERT, Case
from kb.corpus.kinds import Kind
from kb.lint.static_checks.assertions import same_assert, top_level_asserts
from kb.lint.static_checks.names import parse

__all__ = ["Mutant", "mutants"]

_PADDING = "# lines of no meaning, which make this program the longest of all\n"

Lines = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed fix that must fail.

    `asserts` are the first and last lines of the asserts of which one must fail; none where the mutant must print the repro's error or warning.
    `about` is the line of the original fix that faults are reported at.
    """

    kind: Literal["negated", "restored"]
    source: str
    asserts: tuple[Lines, ...]
    about: int


def mutants(case: Case, kind: Kind) -> tuple[Mutant, ...]:
    """Return the mutants of a case's fix: a negated one for each assert at its top level, then the restored one."""
    return (*_negated(case.fix.source), _restored(case.repro.source, case.fix.source, kind))


def _negated(fix: str) -> Iterator[Mutant]:
    for index, original in enumerate(top_level_asserts(parse(fix))):
        tree = parse(fix)
        node = top_level_asserts(tree)[index]
        node.test = ast.UnaryOp(ast.Not(), node.test)
        source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        yield Mutant("negated", source, (_lines(top_level_asserts(parse(source))[index]),), original.lineno)


def _restored(repro: str, fix: str, kind: Kind) -> Mutant:
    asserts = [ast.unparse(node) for node in top_level_asserts(parse(fix))]
    source = "\n".join([ast.unparse(parse(repro)), *asserts]) + "\n"
    if len(fix) > len(repro):
        source += _PADDING * (1 + max(len(fix) - len(source), 0) // len(_PADDING))
    lines: tuple[Lines, ...] = ()
    if kind in PROVED_BY_ASSERT:
        wanted = top_level_asserts(parse(repro))
        candidates = top_level_asserts(parse(source))
        lines = tuple(_lines(node) for node in candidates if any(same_assert(node, original) for original in wanted))
    return Mutant("restored", source, lines, 1)


def _lines(node: ast.Assert) -> Lines:
    return node.lineno, node.end_lineno or node.lineno
