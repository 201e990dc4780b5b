"""What a verdict leaves in the ledger."""

from __future__ import annotations

import datetime as dt

import sandbox
from kb.corpus.ledger import Record, program_hash
from kb.templates.program_output import excerpt, shorten_paths
from kb.verify.results import Verdict

__all__ = ["to_record"]

_PRINTED_CHARS = 8000


def to_record(verdict: Verdict) -> Record:
    """Return the record of a verdict on what has run: what the repro printed on stderr, or the check on stdout, cut to its beginning and end, without paths."""
    environment = verdict.environment
    assert environment is not None, f"{verdict.subject.id} has not run"
    printed = ""
    if repro := verdict.outcomes.get("repro"):
        printed = repro.stderr
    elif check := verdict.outcomes.get("check"):
        printed = check.stdout
    return Record(
        hash=program_hash(verdict.subject),
        outcome=verdict.outcome,
        printed=excerpt(shorten_paths(sandbox.printable(excerpt(printed, 4 * _PRINTED_CHARS))), _PRINTED_CHARS),
        seconds=round(verdict.seconds, 3),
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        torch=environment.torch,
        device=verdict.subject.device,
        backend=environment.backend,
        gpu=environment.gpu,
        packages=dict(environment.packages),
    )
