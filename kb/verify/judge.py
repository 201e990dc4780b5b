"""Judges what the programs of a case or a check did, by the rules of the format. Takes outcomes and returns faults; knows nothing of running.

A repro must end as its entry says, the error must come from the library, and what was printed must lead back to the entry. A fix must run to its last
line without a warning, and each mutant of it must fail as it should. With a change that is shown on the reader's own line, the repro must run. A check
must run to its last line without a warning and print something.

How a program ended is taken from its exit status, from the exception that its process held, and from whether its last statement was reached; what it
printed alone decides nothing but the text of a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import sandbox
from kb.corpus.entry import PROVED_BY_ASSERT, Case, Check, Entry
from kb.corpus.environments import modules_required
from kb.index.reader import Index
from kb.lint.static_checks.assertions import assertions, same_assert, top_level_asserts
from kb.lint.static_checks.derived import handled_in, mentions_library, statement_at
from kb.lint.static_checks.names import read_program
from kb.search.answer import Answer
from kb.search.lookup import lookup
from kb.templates.entry_templates import entry_templates
from kb.templates.program_output import exceptions_in, excerpt, matches_any, printed_warnings
from kb.templates.template import Template
from kb.verify.edited import EditedProgram
from kb.verify.mutants import Mutant
from kb.verify.origin import error_origin_fault, warning_origin_fault
from kb.verify.results import Fault, Verdict

__all__ = ["EditedOutcome", "MutantOutcome", "judge", "judge_check"]

_SHOWN = 300
"""Characters of a message that a fault shows."""
_LOOKED_UP = 8_000
"""Characters of a repro's standard error that are looked up, as many as a ledger keeps."""
_STARTS_PROCESSES = (
    "concurrent.futures.",
    "multiprocessing.",
    "subprocess",
    "torch.distributed.",
    "torch.multiprocessing.",
    "torch.utils.data.",
)
"""Beginnings of modules that report an error of a process that they have started; the process has printed its own traceback."""


class MutantOutcome(NamedTuple):
    """A mutant of a fix, and how it ended."""

    mutant: Mutant
    outcome: sandbox.Outcome


class EditedOutcome(NamedTuple):
    """A repro with a change of the entry in one statement, and how it ended."""

    program: EditedProgram
    outcome: sandbox.Outcome


def judge(
    entry: Entry,
    case: Case,
    index: Index,
    repro: sandbox.Outcome,
    fix: sandbox.Outcome,
    mutants: Sequence[MutantOutcome] = (),
    edited: Sequence[EditedOutcome] = (),
    *,
    may_warn: bool = False,
) -> Verdict:
    """Return the verdict on a case with every fault; mutants, changes and the look-up are judged only where repro and fix have none.

    `may_warn` says that the entry is exempt from the rule that a fix emits no warning. What this release warns of has an entry of its own, so of a silent
    pitfall or a symptom the traceback alone is looked up then.
    """
    templates = [template for _, template in entry_templates(entry)]
    faults = [*_repro_faults(entry, case, repro, templates), *_fix_faults(case, fix, may_warn)]
    if not faults:
        for mutant, outcome in mutants:
            check = _negated_faults if mutant.kind == "negated" else _restored_faults
            faults += ((case.fix.line + mutant.about - 1, what) for what in check(entry, mutant, outcome, templates))
    if not faults:
        printed = _traceback(repro.stderr) if may_warn and entry.kind in PROVED_BY_ASSERT else repro.stderr
        answer = lookup(excerpt(printed, _LOOKED_UP), index=index)
        faults += ((case.repro.line, what) for what in _lookup_faults(entry, answer))
        faults += _edit_faults(entry, case, repro, edited, templates, answer)
    return Verdict(case, "failed" if faults else "passed", tuple(faults), outcomes={"repro": repro, "fix": fix})


def judge_check(check: Check, outcome: sandbox.Outcome, *, may_warn: bool = False) -> Verdict:
    """Return the verdict on a check: it runs to its last line, prints something, and lets no warning through unless its entry is exempt."""
    faults = tuple(_check_faults(check, outcome, may_warn))
    return Verdict(check, "failed" if faults else "passed", faults, outcomes={"check": outcome})


def _check_faults(check: Check, outcome: sandbox.Outcome, may_warn: bool) -> Iterator[Fault]:
    line = check.program.line
    if outcome.ended != "exit" or outcome.exit_code != 0:
        yield line + _own_line(outcome) - 1, f"the check fails: {_ending(outcome)}"
    elif not outcome.finished:
        yield line, "the check ended before its last line; it must run through"
    elif not outcome.stdout.strip():
        yield line, "the check prints nothing; print what tells the causes apart"
    for warning in () if may_warn else printed_warnings(outcome.stderr):
        yield line, f"KB082 the check emits a warning: {_shown(warning.category, warning.text)}"


def _repro_faults(entry: Entry, case: Case, repro: sandbox.Outcome, templates: Sequence[Template]) -> Iterator[Fault]:
    line, raised = case.repro.line, repro.raised
    if repro.ended != "exit":
        yield line, f"the repro did not end by itself: {_how(repro)}"
    elif entry.kind == "warning":
        yield from _warning_faults(case, repro, templates)
    elif repro.exit_code == 0:
        yield line, "the repro ran through; it must fail as its entry says"
    elif raised is None:
        yield line, f"the repro ended with exit status {repro.exit_code}, but no exception of its own ended it"
    elif entry.kind in PROVED_BY_ASSERT:
        yield from _silent_faults(case, raised)
    elif not _raised_or_reported(repro, raised, templates):
        yield line, f"no message of the entry matches what the repro raised: {_shown(raised.type, raised.message)}"
    elif fault := error_origin_fault(raised, case.repro.source, modules_required(case)):
        yield line, fault
    elif (own := _own_line(repro)) and (handled := handled_in(case.fix.source, statement_at(case.repro.source, own))):
        yield (
            case.fix.line + handled.lineno - 1,
            "the fix runs the failing statement all the same and handles its error",
        )


def _raised_or_reported(repro: sandbox.Outcome, raised: sandbox.Raised, templates: Sequence[Template]) -> bool:
    """Return whether a template matches the exception, one that caused it, or one that it quotes.

    Where a library that starts processes has raised it, the traceback that such a process printed counts as well; of an assert that failed on
    the GPU, the line that the device printed.
    """
    messages = [(raised.type, raised.message), *raised.causes, *exceptions_in(raised.message)]
    if raised.frames and raised.frames[-1].module.startswith(_STARTS_PROCESSES):
        messages += exceptions_in(repro.stderr)
    elif raised.message.startswith("CUDA error: device-side assert triggered"):
        messages += [(type_, message) for type_, message in exceptions_in(repro.stderr) if not type_]
    return any(matches_any(templates, type_, message.lstrip()) for type_, message in messages)


def _warning_faults(case: Case, repro: sandbox.Outcome, templates: Sequence[Template]) -> Iterator[Fault]:
    printed = printed_warnings(repro.stderr)
    matching = [warning for warning in printed if matches_any(templates, warning.category, warning.text)]
    if repro.exit_code != 0 or not repro.finished:
        yield case.repro.line, f"the repro of a warning must run through: {_how(repro)}"
    if not matching:
        shown = "; ".join(_shown(warning.category, warning.text) for warning in printed) or "no warning"
        yield case.repro.line, f"no message of the entry matches what the repro printed: {shown}"
    elif faults := [fault for warning in matching if (fault := warning_origin_fault(warning, case.repro.source))]:
        yield case.repro.line, faults[0]


def _silent_faults(case: Case, raised: sandbox.Raised) -> Iterator[Fault]:
    """A silent repro fails at an assert of its own that tests something of the library, and that very assert is in the fix."""
    if raised.type != "AssertionError":
        yield (
            case.repro.line,
            f"the repro of a silent pitfall or a symptom must end in AssertionError, not {raised.type}",
        )
        return
    frame = raised.frames[-1] if raised.frames else None
    failed = next(
        (node for node in assertions(case.repro.source) if frame and _covers(node.lineno, node.end_lineno, frame)), None
    )
    if failed is None:
        yield case.repro.line, "the AssertionError does not come from an assert of the repro"
        return
    line = case.repro.line + failed.lineno - 1
    if not mentions_library(failed, case.repro.source, standard_library=True):
        yield line, "the assert that failed tests nothing that came from a call; assert what the library did"
    shared = top_level_asserts(read_program(case.fix.source).tree)
    if not any(same_assert(failed, node) for node in shared):
        yield line, "the assert that failed does not stand in the fix; use the very same one in both"


def _fix_faults(case: Case, fix: sandbox.Outcome, may_warn: bool) -> Iterator[Fault]:
    if fix.ended != "exit" or fix.exit_code != 0:
        yield case.fix.line + _own_line(fix) - 1, f"the fix fails: {_ending(fix)}"
    elif not fix.finished:
        yield case.fix.line, "the fix ended before its last line; it must run through"
    if not top_level_asserts(read_program(case.fix.source).tree):
        yield case.fix.line, "the fix asserts nothing at its top level; end it by asserting what is right now"
    for warning in () if may_warn else printed_warnings(fix.stderr):
        yield case.fix.line, f"KB082 the fix emits a warning: {_shown(warning.category, warning.text)}"


def _negated_faults(
    _entry: Entry, mutant: Mutant, outcome: sandbox.Outcome, _templates: Sequence[Template]
) -> Iterator[str]:
    if not _fails_at(mutant, outcome):
        yield f"this assert proves nothing: turned round it must fail, but the program ended with {_ending(outcome)}"


def _restored_faults(
    entry: Entry, mutant: Mutant, outcome: sandbox.Outcome, templates: Sequence[Template]
) -> Iterator[str]:
    if entry.kind in PROVED_BY_ASSERT:
        same = _fails_at(mutant, outcome)
    elif entry.kind == "warning":
        printed = printed_warnings(outcome.stderr)
        same = any(matches_any(templates, warning.category, warning.text) for warning in printed)
    else:
        same = outcome.raised is not None and _raised_or_reported(outcome, outcome.raised, templates)
    if not same:
        yield (
            "the fix's changes are not what makes the difference: with the repro's lines in their place the program ended "
            f"with {_ending(outcome)}"
        )


def _edit_faults(
    entry: Entry,
    case: Case,
    repro: sandbox.Outcome,
    edited: Sequence[EditedOutcome],
    templates: Sequence[Template],
    answer: Answer,
) -> Iterator[Fault]:
    """A change that is shown on the reader's own line is one of a line at which the repro fails or warns, and with it the repro runs without that."""
    said = answer.matches[0].evidence.values if answer.matches else {}
    every_line = set(range(1, case.repro.source.count("\n") + 2))
    lines = _lines_of_warnings(repro, templates, every_line) if entry.kind == "warning" else {_own_line(repro)}
    for edit in entry.edits:
        if edit.case != case.name:
            continue
        there = [
            (lines & set(range(program.lines[0], program.lines[1] + 1)), outcome)
            for program, outcome in edited
            if program.edit is edit and all(said.get(name) == value for name, value in program.values.items())
        ]
        if not any(at for at, _ in there):
            shown = ", ".join(map(str, sorted(lines)))
            yield edit.line, f"{edit.before!r} does not match line {shown} of the repro, at which it fails"
        for at, outcome in there:
            if at and (outcome.ended != "exit" or outcome.exit_code != 0 or not outcome.finished):
                yield edit.line, f"with {edit.after!r} on line {min(at)} the repro does not run: {_ending(outcome)}"
            elif at & _lines_of_warnings(outcome, templates, every_line):
                yield edit.line, f"with {edit.after!r} on line {min(at)} the repro still warns there"


def _lines_of_warnings(outcome: sandbox.Outcome, templates: Sequence[Template], every_line: set[int]) -> set[int]:
    """Return the lines of a program at which it printed a warning that a template matches.

    Where such a warning names a line of the library only, as the same one may in an older release, every line may have led to it.
    """
    matching = [
        warning
        for warning in printed_warnings(outcome.stderr)
        if matches_any(templates, warning.category, warning.text)
    ]
    own = {warning.line for warning in matching if warning.file.endswith("/program.py")}
    return own or (every_line if matching else set())


def _fails_at(mutant: Mutant, outcome: sandbox.Outcome) -> bool:
    """Return whether a mutant ended in an AssertionError that one of its asserts raised at the top level."""
    raised = outcome.raised
    if outcome.ended != "exit" or outcome.exit_code != 1 or raised is None or raised.type != "AssertionError":
        return False
    frame = raised.frames[-1] if raised.frames else None
    return (
        frame is not None
        and len(raised.frames) == 1
        and frame.function == "<module>"
        and any(_covers(*lines, frame) for lines in mutant.asserts)
    )


def _traceback(stderr: str) -> str:
    """Return the last traceback, or all where there is none."""
    return stderr[max(stderr.rfind("Traceback (most recent call last):"), 0) :]


def _lookup_faults(entry: Entry, answer: Answer) -> Iterator[str]:
    """What was printed must be this entry's message, and no other answer; of a silent pitfall or a symptom it must not be answered with another entry.

    How sure the answer to a whole message is does not count: labelled posts tell that, not the program.
    """
    first = answer.matches[0] if answer.matches else None
    if entry.kind in PROVED_BY_ASSERT:
        if answer.answered and first and first.id != entry.id:
            yield f"what the repro prints is answered with {first.id} ({first.confidence})"
    elif first is None or not (answer.answered or first.evidence.is_whole):
        yield "what the repro prints finds no entry; its message is not among the entry's messages"
    elif first.id != entry.id:
        yield f"what the repro prints leads to {first.id} ({first.confidence}) instead; make the message more specific"


def _covers(first: int, last: int | None, frame: sandbox.Frame) -> bool:
    return frame.origin == "program" and first <= frame.line <= (last or first)


def _own_line(outcome: sandbox.Outcome) -> int:
    """Return the last line of the program that its exception came through, 1 where there is none."""
    frames = outcome.raised.frames if outcome.raised else ()
    return next((frame.line for frame in reversed(frames) if frame.origin == "program"), 1)


def _shown(type_: str, message: str) -> str:
    return f"{type_}: {message.strip().partition(chr(10))[0][:_SHOWN]}"


def _ending(outcome: sandbox.Outcome) -> str:
    return _shown(outcome.raised.type, outcome.raised.message) if outcome.raised else _how(outcome)


def _how(outcome: sandbox.Outcome) -> str:
    """Return how a program ended, as a part of a sentence."""
    match outcome.ended:
        case "time":
            return f"stopped after {outcome.seconds:.1f} s"
        case "memory":
            return "out of memory"
        case "output":
            return "too much output"
        case "pids":
            return "too many processes"
        case "signal":
            return f"killed by signal {outcome.signal}"
        case "refused":
            return f"not run ({outcome.detail})"
        case "cancelled":
            return "cancelled"
        case "exit":
            return f"exit status {outcome.exit_code}"
