"""Rules that an entry may break, each with a reason: `exemptions.yaml` in a folder of entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from kb.corpus.bounded_yaml import YamlError, read_yaml
from kb.corpus.diagnostic import Diagnostic, Diagnostics, display_path
from kb.corpus.files import YAML_BYTES, UnreadableFile, is_there, read_text
from kb.corpus.versions import holds, is_impossible

__all__ = ["FILE", "apply_exemptions", "is_exempt"]

FILE = "exemptions.yaml"

SEEN_IN_RUNS = frozenset({"KB082"})
"""Rules that only a run can find broken, so that `kb check` cannot say of an exemption that it is stale."""


class _Exemption(NamedTuple):
    """An entry, the rule that it may break, the line that says so, and the versions of torch for which it holds; empty means all."""

    entry: str
    rule: str
    line: int
    torch: str = ""

    def covers(self, fault: Diagnostic) -> bool:
        return fault.rule == self.rule and Path(fault.path).stem == self.entry


def apply_exemptions(
    faults: Iterable[Diagnostic], folders: Iterable[Path], is_checked: Callable[[str], bool]
) -> list[Diagnostic]:
    """Return the faults that no exemption covers, and a fault for each exemption that covers nothing or gives no reason, sorted.

    `is_checked` says of a slug whether every rule has looked at its entry, because an exemption of another entry cannot be called stale.
    """
    remaining = list(faults)
    for folder in folders:
        path = folder / FILE
        if not is_there(path):
            continue
        diagnostics = Diagnostics(display_path(path))
        for exemption in _read(path, folder, diagnostics):
            uncovered = [fault for fault in remaining if not exemption.covers(fault)]
            if len(uncovered) == len(remaining) and is_checked(exemption.entry) and exemption.rule not in SEEN_IN_RUNS:
                what = f"{exemption.entry[:80]} does not break {exemption.rule[:20]} any more; drop the exemption"
                diagnostics.add(exemption.line, "KB050", what)
            remaining = uncovered
        remaining += diagnostics.items
    return sorted(remaining)


def is_exempt(folder: Path, slug: str, rule: str, torch: str) -> bool:
    """Return whether an entry of this folder may break a rule in a run on this version of torch."""
    path = folder / FILE
    exemptions = _read(path, folder, Diagnostics(display_path(path))) if is_there(path) else []
    return any(
        (exemption.entry, exemption.rule) == (slug, rule) and holds(exemption.torch, torch) for exemption in exemptions
    )


def _is_range(text: str) -> bool:
    try:
        return not is_impossible(text)
    except ValueError:
        return False


def _read(path: Path, folder: Path, diagnostics: Diagnostics) -> list[_Exemption]:
    """Return the exemptions of a file; what is wrong with it is a diagnostic."""
    try:
        document = read_yaml(read_text(path, folder, YAML_BYTES))
    except UnreadableFile as error:
        diagnostics.add(1, "KB050", str(error))
        return []
    except YamlError as error:
        diagnostics.add(error.line, "KB050", f"{error}; write a list of exemptions")
        return []
    for line, problem in document.problems:
        diagnostics.add(line, "KB050", problem)
    if document.data is None:
        return []
    exemptions = []
    for index, item in enumerate(document.data if isinstance(document.data, list) else [None]):
        line = document.lines.get((index,), 1)
        match item:
            case {"entry": str(entry), "rule": str(rule), "reason": str(reason), **rest} if reason.strip() and not rest:
                exemptions.append(_Exemption(entry, rule, line))
            case {"entry": str(entry), "rule": str(rule), "torch": str(torch), "reason": str(reason), **rest} if (
                reason.strip() and not rest and rule in SEEN_IN_RUNS and _is_range(torch)
            ):
                exemptions.append(_Exemption(entry, rule, line, torch))
            case _:
                diagnostics.add(
                    line,
                    "KB050",
                    "an exemption has an entry, a rule and a reason; write all three (torch: a range, for KB082 only)",
                )
    return exemptions
