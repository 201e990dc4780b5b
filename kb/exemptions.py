"""Rules that an entry may break, each with a reason: `exemptions.yaml` in a folder of entries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import yaml

from kb.corpus import shown
from kb.entry import Fault

__all__ = ["FILE", "exempt"]

FILE = "exemptions.yaml"
_KEYS = {"entry", "rule", "reason"}


def exempt(faults: Iterable[Fault], folders: Iterable[Path], judged: set[str] | None = None) -> list[Fault]:
    """Return the faults that no exemption covers, and a fault for each exemption that covers nothing or gives no reason.

    `judged` are the slugs that were looked at, None for all: an exemption of another entry cannot be called stale.
    """
    left = list(faults)
    for folder in folders:
        path = folder / FILE
        if not path.exists():
            continue
        for number, item in _items(path):
            name = f"{shown(path)}"
            if (
                not isinstance(item, dict)
                or set(item) != _KEYS
                or not all(isinstance(value, str) and value.strip() for value in item.values())
            ):
                left.append(
                    Fault(name, number, "KB050", "an exemption has an entry, a rule and a reason; write all three")
                )
                continue
            covered = [fault for fault in left if fault.rule == item["rule"] and Path(fault.path).stem == item["entry"]]
            left = [fault for fault in left if fault not in covered]
            if not covered and (judged is None or item["entry"] in judged):
                left.append(
                    Fault(
                        name,
                        number,
                        "KB050",
                        f"{item['entry']} does not break {item['rule']} any more; drop the exemption",
                    )
                )
    return sorted(left)


def _items(path: Path) -> list[tuple[int, object]]:
    """The exemptions of a file with their lines."""
    text = path.read_text("utf-8")
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    data = yaml.safe_load(text)
    if not isinstance(node, yaml.SequenceNode):
        return [(1, None)] if data else []
    return [(child.start_mark.line + 1, item) for child, item in zip(node.value, data, strict=True)]
