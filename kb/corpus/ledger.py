"""What has been proven: one JSON file per torch version and device, written by `kb verify --record` and by nothing else.

A case or a check counts as verified only while the hash of its programs is the recorded one; one that was changed since says so.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, get_args

from kb.corpus.diagnostic import Diagnostic, Diagnostics, display_path
from kb.corpus.entry import DEVICES, Runnable
from kb.corpus.files import LEDGER_BYTES, LEDGERS, UnreadableFile, ledger_files, read_text
from kb.corpus.loader import entry_folders
from kb.corpus.versions import holds, is_cpu_build, release, sort_key

__all__ = [
    "LedgerError",
    "Ledgers",
    "Record",
    "State",
    "load_ledgers",
    "program_hash",
    "write_records",
]

State = Literal["verified", "changed", "unverified"]
Outcome = Literal["passed", "failed"]

_MAX_FAULTS = 20
"""The most faults that are reported of one ledger."""

_MAX_PRINTED = 16 << 10
"""The longest output that a record may hold, in characters. `kb verify` cuts at 8,000."""

_MAX_NAME = 200
_MAX_SECONDS = 1e6
_MAX_PACKAGES = 20
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class LedgerError(ValueError):
    """A ledger is not what `kb verify --record` writes; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Record:
    """How a case or a check came out: the hash of its programs, what was printed, where it ran and on which UTC day.

    `printed` is what a repro printed on stderr, a check on stdout, with paths shortened. `seconds` is the time of all its programs together.
    `gpu` names model, driver and CUDA version where there was one. `packages` are the versions of what the entry requires.
    """

    hash: str
    outcome: str
    printed: str
    seconds: float
    date: str
    torch: str
    device: str
    backend: str = ""
    gpu: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ledgers:
    """All records by the id of their case or check, newest torch first, and what is wrong with the ledgers and records that were left out."""

    by_id: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)
    faults: tuple[Diagnostic, ...] = ()

    def records(self, runnable: Runnable) -> list[Record]:
        """Return the passed records of the case or check as it is now, newest torch first."""
        current = program_hash(runnable)
        return [record for record in self.by_id.get(runnable.id, ()) if record.hash == current and _passed(record)]

    def state(self, runnable: Runnable) -> State:
        """Return whether the case or check is verified, was verified before it changed, or never was."""
        if self.records(runnable):
            return "verified"
        return "changed" if any(map(_passed, self.by_id.get(runnable.id, ()))) else "unverified"

    def printed(self) -> dict[str, str]:
        """Return what each case's repro, or each check, printed on the newest torch, by id."""
        return {id_: records[0].printed for id_, records in self.by_id.items() if records}


class _Ledger(NamedTuple):
    """One file: its torch version, and its records by id."""

    torch: str
    records: dict[str, Record]


def program_hash(runnable: Runnable) -> str:
    """Return the hash of all that decides how a case or a check runs: its programs and their attributes."""
    what = [
        *(block.source for block in runnable.blocks.values()),
        runnable.device,
        runnable.gpus,
        runnable.os,
        runnable.shm,
        runnable.memory,
        runnable.timeout,
        runnable.fresh,
        *runnable.requires,
    ]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def _holds_for(runnable: Runnable, torch: str) -> bool:
    return holds(runnable.torch, torch) and (runnable.build != "cpu" or is_cpu_build(torch))


def load_ledgers(folders: Iterable[Path] | None = None) -> Ledgers:
    """Return the records of all ledgers below these folders of entries, `entry_folders()` when none are named.

    A ledger or a record that cannot be read is left out and is a fault, which `kb check` reports: a badge does not vanish silently.
    """
    ledgers: list[_Ledger] = []
    faults: list[Diagnostic] = []
    for folder in entry_folders() if folders is None else folders:
        for path in ledger_files(folder):
            diagnostics = Diagnostics(display_path(path))
            try:
                ledgers.append(_read_ledger(path, folder, diagnostics))
            except LedgerError as error:
                diagnostics.add(1, "KB052", f"{error}; restore the ledger, or write it again with kb verify --record")
            faults += diagnostics.items
    by_id: dict[str, list[Record]] = {}
    for ledger in sorted(ledgers, key=lambda ledger: sort_key(ledger.torch), reverse=True):
        for id_, record in ledger.records.items():
            by_id.setdefault(id_, []).append(record)
    return Ledgers({id_: tuple(records) for id_, records in by_id.items()}, tuple(faults))


def write_records(folder: Path, records: Mapping[str, Record], runnables: Iterable[Runnable]) -> list[Path]:
    """Write records by the id of their case or check into the ledgers below a folder of entries and return the paths written.

    `runnables` are the cases and checks that there are. Records of others are dropped, and those of a version or build of torch that one no longer holds for;
    those of what did not run now stay. Raises `LedgerError` when a ledger that is there already cannot be read, and for what is no version of torch.
    """
    known = {runnable.id: runnable for runnable in runnables}
    written = []
    for torch, device in sorted({(record.torch, record.device) for record in records.values()}):
        _check_version(torch)  # it becomes a file's name
        path = folder / LEDGERS / f"{torch.partition('+')[0]}-{device}.json"
        earlier = _read_ledger(path, folder, Diagnostics(str(path))) if path.exists() else _Ledger(torch, {})
        merged = earlier.records | {
            id_: record for id_, record in records.items() if (record.torch, record.device) == (torch, device)
        }
        kept = {
            id_: record
            for id_, record in sorted(merged.items())
            if id_ in known and _holds_for(known[id_], record.torch)
        }
        build = max(Counter(record.torch for record in kept.values()).items(), key=itemgetter(1), default=(torch, 0))[0]
        cases = {id_: _to_json(record, build) for id_, record in kept.items()}
        text = json.dumps({"torch": build, "device": device, "cases": cases}, ensure_ascii=False, indent=1)
        path.parent.mkdir(exist_ok=True)
        scratch = path.with_suffix(f".{os.getpid()}.tmp")
        scratch.write_text(text + "\n", "utf-8")
        scratch.replace(path)
        written.append(path)
    return written


def _passed(record: Record) -> bool:
    return record.outcome == "passed"


def _to_json(record: Record, torch: str) -> dict[str, object]:
    """Return a record as a ledger of this build of torch has it: another build of the same version is named."""
    left_out = {"device"} | ({"torch"} if record.torch == torch else set())
    return {key: value for key, value in asdict(record).items() if key not in left_out and value not in ("", {})}


def _read_ledger(path: Path, folder: Path, diagnostics: Diagnostics) -> _Ledger:
    """Return what a ledger holds; a record that is wrong is a diagnostic. Raises `LedgerError` when the whole file is."""
    try:
        data = json.loads(read_text(path, folder, LEDGER_BYTES), parse_constant=_refuse_constant)
    except UnreadableFile as error:
        raise LedgerError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise LedgerError(f"no JSON ({str(error)[:120] or 'nested too deeply'})") from error
    match data:
        case {"torch": str(torch), "device": str(device), "cases": dict(cases)} if device in DEVICES:
            pass
        case _:
            raise LedgerError(f"no ledger; it has a torch version, a device ({', '.join(DEVICES)}) and cases")
    _check_version(torch)
    records: dict[str, Record] = {}
    for case_id, values in cases.items():
        try:
            records[case_id] = _record(values, torch, device)
        except LedgerError as error:
            diagnostics.add(
                1, "KB052", f"{case_id[:120]!r} is left out: {error}; write it again with kb verify --record"
            )
            if len(diagnostics.items) == _MAX_FAULTS:
                raise LedgerError("more records are wrong than are listed here") from None
    return _Ledger(torch, records)


def _check_version(torch: str) -> None:
    try:
        release(torch)
    except ValueError as error:
        raise LedgerError(f"{torch[:40]!r} is no version of torch") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _record(values: Any, torch: str, device: str) -> Record:
    """Return the record that a ledger's JSON describes; values of unknown names are ignored. Raises `LedgerError`."""
    if not isinstance(values, dict):
        raise LedgerError("no record")
    seconds = values.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < _MAX_SECONDS:
        raise LedgerError("seconds is no time")
    outcome, date = _text(values, "outcome"), _text(values, "date")
    if outcome not in get_args(Outcome):
        raise LedgerError(f"the outcome is none of {', '.join(get_args(Outcome))}")
    build = _text(values, "torch", torch)
    if build.partition("+")[0] != torch.partition("+")[0]:
        raise LedgerError(f"{build[:40]!r} is another version of torch than the ledger's")
    _check_version(build)
    packages = values.get("packages", {})
    if not isinstance(packages, dict) or len(packages) > _MAX_PACKAGES:
        raise LedgerError("packages is no table of versions")
    try:
        dt.date.fromisoformat(date)
    except ValueError as error:
        raise LedgerError("the date is no day such as 2026-11-20") from error
    return Record(
        hash=_text(values, "hash"),
        outcome=outcome,
        printed=_text(values, "printed", "", longest=_MAX_PRINTED),
        seconds=float(seconds),
        date=date,
        torch=build,
        device=device,
        packages={name[:_MAX_NAME]: _text(packages, name) for name in packages},
        backend=_text(values, "backend", ""),
        gpu=_text(values, "gpu", ""),
    )


def _text(values: dict[str, Any], name: str, default: str | None = None, *, longest: int = _MAX_NAME) -> str:
    text = values.get(name, default)
    if not isinstance(text, str) or len(text) > longest or _HALF_CHARACTER.search(text):
        raise LedgerError(f"{name} is no text of at most {longest} characters")
    return text
