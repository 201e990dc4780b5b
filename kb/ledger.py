"""What has been proven: one JSON file per torch version and device, written by `kb verify --record` and by nothing else.

A case counts as verified only while the hash of its programs is the recorded one; a program that was changed since says so.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal

from kb.corpus import entry_folders
from kb.entry import Case

__all__ = ["FOLDER", "Ledgers", "Record", "State", "case_hash", "load_ledgers", "record"]

FOLDER = "verified"
"""The folder below a folder of entries that holds its ledgers."""

State = Literal["verified", "changed", "unverified"]


@dataclass(frozen=True, slots=True)
class Record:
    """One proven case: the hash of its programs, what the repro printed (its stderr, paths shortened), and where and when (UTC day) it ran.

    `seconds` is the time of repro and fix together. `gpu` names model, driver and CUDA version where there was one.
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


@dataclass(frozen=True, slots=True)
class Ledgers:
    """All records, by case id."""

    by_case: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)

    def records(self, case: Case) -> list[Record]:
        """Return the passed records that hold for the case as it stands now, newest torch first."""
        current = case_hash(case)
        return [found for found in self.by_case.get(case.id, ()) if found.hash == current and found.outcome == "passed"]

    def state(self, case: Case) -> State:
        """Tell whether the case is verified, was verified before it changed, or never was."""
        if self.records(case):
            return "verified"
        return "changed" if any(found.outcome == "passed" for found in self.by_case.get(case.id, ())) else "unverified"

    def printed(self) -> dict[str, str]:
        """Return what each case's repro printed last, by case id."""
        return {case: found[0].printed for case, found in self.by_case.items() if found}


def case_hash(case: Case) -> str:
    """Return the hash of all that decides how a case runs: both programs and their attributes."""
    what = [
        case.repro.source,
        case.fix.source,
        case.device,
        case.gpus,
        case.os,
        case.shm,
        case.memory,
        case.timeout,
        case.fresh,
    ]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def load_ledgers(folders: Iterable[Path] | None = None) -> Ledgers:
    """Return the records of all ledgers below these folders of entries, `entry_folders()` when none are named.

    A ledger that cannot be read raises ValueError with its path: a badge must not vanish silently.
    """
    found: dict[str, list[Record]] = {}
    names = {spec.name for spec in fields(Record)}
    for folder in entry_folders() if folders is None else folders:
        for path in sorted((folder / FOLDER).glob("*.json"), key=_version, reverse=True):
            try:
                ledger = json.loads(path.read_text("utf-8"))
                for case, values in ledger["cases"].items():
                    known = {"printed": ""} | {key: value for key, value in values.items() if key in names}
                    found.setdefault(case, []).append(Record(**known, torch=ledger["torch"], device=ledger["device"]))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}: no ledger ({error}); write it anew with kb verify --record") from error
    return Ledgers({case: tuple(records) for case, records in found.items()})


def record(folder: Path, records: Mapping[str, Record], cases: Iterable[str]) -> list[Path]:
    """Write records by case id into the ledgers below a folder of entries and return the files written.

    `cases` are the ids that exist: records of others are dropped, those of cases that did not run now stay.
    """
    known = set(cases)
    written = []
    for torch, device in sorted({(found.torch, found.device) for found in records.values()}):
        path = folder / FOLDER / f"{torch.partition('+')[0]}-{device}.json"
        old = json.loads(path.read_text("utf-8"))["cases"] if path.exists() else {}
        new = {
            case: _values(found) for case, found in records.items() if (found.torch, found.device) == (torch, device)
        }
        merged = {case: values for case, values in sorted((old | new).items()) if case in known}
        path.parent.mkdir(exist_ok=True)
        scratch = path.with_suffix(f".{os.getpid()}.tmp")
        text = json.dumps({"torch": torch, "device": device, "cases": merged}, ensure_ascii=False, indent=1)
        scratch.write_text(text + "\n", "utf-8")
        scratch.replace(path)
        written.append(path)
    return written


def _values(found: Record) -> dict[str, object]:
    return {key: value for key, value in asdict(found).items() if key not in ("torch", "device") and value != ""}


def _version(path: Path) -> tuple[tuple[int, ...], str]:
    version, _, device = path.stem.rpartition("-")
    return tuple(int(part) for part in version.split(".") if part.isdigit()), device
