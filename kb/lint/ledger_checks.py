"""Compare what entries say with what the ledgers and the record of packages show: which entry a message answers, which versions of torch print it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache

from kb.corpus.diagnostic import Diagnostic, display_path
from kb.corpus.entry import Entry, Message
from kb.corpus.ledger import Ledgers
from kb.corpus.loader import Corpus
from kb.corpus.versions import holds
from kb.lint.template_collisions import template_collisions
from kb.record.message_ranges import releases_left_out
from kb.templates.conditions import read_conditions
from kb.templates.entry_templates import entry_templates
from kb.templates.printed_messages import printed_messages, printed_values
from kb.templates.value_conditions import cause_of_values

__all__ = ["check_collisions", "check_records"]

_MessagesIn = Callable[[str], list[Message]]
"""Returns the messages of one entry that an output has."""


def check_collisions(corpus: Corpus, ledgers: Ledgers, slugs: Collection[str]) -> Iterator[Diagnostic]:
    """Yield a fault for each message of these entries that would answer what another entry's repro printed.

    The faults of the ledgers themselves come first. What a program printed before it was changed does not count.
    """
    yield from ledgers.faults
    cases = [case for entry in corpus for case in entry.cases]
    printed = {case.id: record.printed for case in cases for record in ledgers.records(case)[:1]}
    for collision in template_collisions(corpus, printed, slugs):
        entry = corpus.entries[collision.slug]
        line = next((message.line for message in entry.messages if message.text == collision.template), 1)
        what = (
            f"{collision.template!r} also matches what the repro of {collision.printed_by} printed; "
            f"make it more specific, or give {collision.printed_by} the fuller message"
        )
        yield Diagnostic(display_path(entry.path), line, "KB043", what)


def check_records(entry: Entry, ledgers: Ledgers) -> Iterator[Diagnostic]:
    """Yield a fault for each message of an entry whose range or cause the ledgers or the record of packages contradict."""
    messages_in = cache(lambda output: printed_messages(entry, output))  # most releases print the same
    yield from _contradicted_ranges(entry, ledgers, messages_in)
    yield from _contradicted_cases(entry, ledgers)
    yield from _ranges_against_the_record(entry)
    yield from _contradicted_causes(entry, ledgers, messages_in)


def _contradicted_ranges(entry: Entry, ledgers: Ledgers, messages_in: _MessagesIn) -> Iterator[Diagnostic]:
    """Yield a fault for each record whose output only messages of other versions match."""
    if not any(message.torch for message in entry.messages):
        return
    for record in (record for case in entry.cases for record in ledgers.by_id.get(case.id, ())):
        matching = messages_in(record.printed)
        if matching and not any(holds(message.torch, record.torch) for message in matching):
            text, versions = matching[0].text, matching[0].torch
            what = f"{text!r} is printed by torch {record.torch}, which {versions!r} leaves out; widen the range"
            yield Diagnostic(display_path(entry.path), matching[0].line, "KB044", what)


def _contradicted_cases(entry: Entry, ledgers: Ledgers) -> Iterator[Diagnostic]:
    """Yield a fault for each case or check that has passed on a version which its range leaves out."""
    for subject in entry.runnables:
        passed = [record.torch for record in ledgers.records(subject) if not holds(subject.torch, record.torch)]
        if passed:
            what = f"{subject.name} passes on torch {passed[0]}, which {subject.torch!r} leaves out; widen the range"
            yield Diagnostic(display_path(entry.path), subject.line, "KB044", what)


def _ranges_against_the_record(entry: Entry) -> Iterator[Diagnostic]:
    """Yield a fault for each message that releases print which its range leaves out."""
    for message, _template in entry_templates(entry):
        if message.torch and (releases := releases_left_out(message)):
            shown = f"{releases[0]} to {releases[-1]}" if len(releases) > 1 else releases[0]
            what = f"{message.text!r} is printed by torch {shown}, which {message.torch!r} leaves out; widen the range"
            yield Diagnostic(display_path(entry.path), message.line, "KB045", what)


def _contradicted_causes(entry: Entry, ledgers: Ledgers, messages_in: _MessagesIn) -> Iterator[Diagnostic]:
    """Yield a fault for each message that names one cause and was printed by a case of another, unless that printed a fuller message of the entry, too."""
    if not entry.named_causes and not entry.causes_by_values:
        return
    for number, item in enumerate(entry.guidance["en"].items, 1):
        for case in (case for case in entry.cases if case.name in item.cases):
            printed = [message for record in ledgers.records(case) for message in _fullest(messages_in(record.printed))]
            for message in dict.fromkeys(printed):
                if message.cause not in (0, number):
                    what = f"{message.text!r} names cause {message.cause}, but {case.name} of cause {number} printed it"
                    yield Diagnostic(display_path(entry.path), message.line, "KB047", f"{what}; leave the cause out")
            outputs = {record.printed for record in ledgers.records(case)} if entry.causes_by_values else ()
            for message, values in (pair for output in outputs for pair in printed_values(entry, output)):
                told = cause_of_values(read_conditions(message.causes_by_values), values)
                if told not in (0, number):
                    shown = ", ".join(f"{name} = {value}" for name, value in values.items())
                    what = f"{shown} tells cause {told}, but {case.name} of cause {number} printed it"
                    yield Diagnostic(display_path(entry.path), message.line, "KB047", f"{what}; mend the condition")


def _fullest(messages: Sequence[Message]) -> list[Message]:
    """Return the messages that are not the beginning of another one: a look-up takes the fuller one."""
    texts = [message.text for message in messages]
    return [
        message
        for message in messages
        if not any(text != message.text and text.startswith(message.text) for text in texts)
    ]
