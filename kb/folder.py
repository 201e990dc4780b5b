"""What a folder of entries says of itself in `kb.yaml`: its name, and the sandbox image that its programs need."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from kb.entry import Entry, Fault

__all__ = ["FILE", "Settings", "origin", "placed", "settings"]

FILE = "kb.yaml"
_PACKAGE = Path(__file__).resolve().parent
_SHIPPED = (_PACKAGE / "_entries", _PACKAGE.parent / "entries")
_VALUES = {
    "name": ("a few words on one line", re.compile(r"\S.{0,79}")),
    "image": ("the name of a container image", re.compile(r"[a-z0-9][a-zA-Z0-9._/:@-]{0,254}")),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """A folder's settings. `name` is what pages call it, `image` the container image of its cases; empty means the usual one."""

    name: str
    image: str = ""


def settings(folder: Path, name: str = "") -> tuple[Settings, list[Fault]]:
    """Return the settings of a folder and what is wrong with them; `name` is what the faults call the file.

    Without a file, or where it is wrong, the folder is called by its own name and has no image.
    """
    path = folder / FILE
    usual = Settings(folder.resolve().name)
    if not path.is_file():
        return usual, []
    name = name or str(path)
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        line = mark.line + 1 if (mark := getattr(error, "problem_mark", None)) else 1
        return usual, [Fault(name, line, "KB051", "no YAML in UTF-8; write key: value lines")]
    if not isinstance(data, dict):
        return usual, [Fault(name, 1, "KB051", f"no settings; write key: value lines, of {', '.join(_VALUES)}")]
    lines = path.read_text("utf-8").split("\n")
    faults = []
    for key, value in data.items():
        line = next((number for number, text in enumerate(lines, 1) if text.startswith(f"{key}:")), 1)
        if key not in _VALUES:
            faults.append(Fault(name, line, "KB051", f"unknown key {key!r}; there are {', '.join(_VALUES)}"))
        elif not isinstance(value, str) or not _VALUES[key][1].fullmatch(value):
            faults.append(Fault(name, line, "KB051", f"{key} takes {_VALUES[key][0]}, not {value!r}"))
    return (usual, faults) if faults else (Settings(data.get("name", usual.name), data.get("image", "")), [])


def placed(entry: Entry, asked: Settings) -> Entry:
    """Return the entry with what its folder asks for: the image of its cases."""
    if not asked.image:
        return entry
    return dataclasses.replace(entry, cases=tuple(dataclasses.replace(case, image=asked.image) for case in entry.cases))


def origin(entry: Entry) -> str:
    """Return the name of the folder that an entry comes from; empty for the entries that ship."""
    folder = entry.path.resolve().parent.parent
    return "" if folder in _SHIPPED else settings(folder)[0].name
