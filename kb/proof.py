"""Hold what entries claim against what the ledgers show: whom a message answers, and which versions of torch print it."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from kb.corpus import Corpus, shown
from kb.entry import Entry, Fault
from kb.ledger import Ledgers, Record, load_ledgers
from kb.printed import exceptions_in, matches, warnings_in
from kb.strangers import strangers
from kb.template import compile_template

__all__ = ["contradictions", "holds"]

_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
_BOUND = re.compile(r"(<=|>=|==|<|>)(\d+(?:\.\d+)*)")


def holds(versions: str, torch: str) -> bool:
    """Tell whether a range such as `>=2.0,<2.6` holds for a version such as `2.4.1+cpu`; the empty range holds for all."""
    numbers = _numbers(torch.partition("+")[0])
    return all(_COMPARE[sign](numbers, _numbers(bound)) for sign, bound in _BOUND.findall(versions))


def contradictions(corpus: Corpus, folders: Iterable[Path]) -> Iterator[Fault]:
    """Yield a fault for each message that would answer what another entry's repro printed, and for each range that a ledger contradicts."""
    ledgers = load_ledgers(folders)
    for slug, template, other in strangers(corpus, ledgers.printed()):
        entry = corpus.entries[slug]
        what = f"{template!r} also matches what the repro of {other} printed; make it more specific, or give {other} the fuller message"
        yield Fault(shown(entry.path), _line(entry, template), "KB043", what)
    for entry in corpus:
        yield from _ranges(entry, ledgers)


def _ranges(entry: Entry, ledgers: Ledgers) -> Iterator[Fault]:
    """A fault for each printed message that only messages of other versions match."""
    ranged = [message for message in entry.messages if message.torch]
    for record in (record for case in entry.cases if ranged for record in ledgers.by_case.get(case.id, ())):
        said = _said(record)
        found = [
            message for message in entry.messages if any(matches(compile_template(message.text), *one) for one in said)
        ]
        if found and not any(holds(message.torch, record.torch) for message in found):
            what = f"{found[0].text!r} is printed by torch {record.torch}, which {found[0].torch!r} leaves out; widen the range"
            yield Fault(shown(entry.path), found[0].line, "KB044", what)


def _said(record: Record) -> list[tuple[str, str]]:
    return exceptions_in(record.printed) + warnings_in(record.printed)


def _line(entry: Entry, template: str) -> int:
    return next((message.line for message in entry.messages if message.text == template), 1)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
