"""The settings of a folder of entries, `kb.yaml`: its name, and the container image that its programs need. It may have environments of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from kb.corpus.bounded_yaml import YamlError, read_yaml
from kb.corpus.diagnostic import Diagnostic, Diagnostics, display_path
from kb.corpus.entry import Entry
from kb.corpus.files import YAML_BYTES, UnreadableFile, environment_files, is_there, read_text
from kb.corpus.paths import SETTINGS_FILE

__all__ = ["Settings", "apply_settings", "origin", "read_settings"]

_PACKAGE = Path(__file__).resolve().parent.parent
_SHIPPED = (_PACKAGE / "_entries", _PACKAGE.parent / "entries")
_KEYS = {
    "name": ("a few words on one line", re.compile(r"\S.{0,79}")),
    "image": ("the name of a container image", re.compile(r"[a-z0-9][a-zA-Z0-9._/:@-]{0,254}")),
}
"""For each key the values that it takes, in words and as a pattern."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A folder's settings. `name` is what pages call it, `image` the container image of its cases; empty means the default image.

    `environments` is the folder itself where it has environments of its own.
    """

    name: str
    image: str = ""
    environments: str = ""


def read_settings(folder: Path) -> tuple[Settings, list[Diagnostic]]:
    """Return the settings of a folder, and what is wrong with them.

    Where there is no file, or anything in it is wrong, the folder is called by its own name and has no image.
    """
    path = folder / SETTINGS_FILE
    default = Settings(folder.resolve().name, environments=str(folder) if environment_files(folder) else "")
    if not is_there(path):
        return default, []
    diagnostics = Diagnostics(display_path(path))
    data = _read_values(path, folder, diagnostics)
    if diagnostics.items:
        return default, diagnostics.items
    return replace(default, name=data.get("name", default.name), image=data.get("image", "")), []


def apply_settings(entry: Entry, settings: Settings) -> Entry:
    """Return the entry with the image and the environments of its folder in each case and check."""
    if not settings.image and not settings.environments:
        return entry
    image, environments = settings.image, settings.environments
    cases = tuple(replace(case, image=image, environments=environments) for case in entry.cases)
    checks = tuple(replace(check, image=image, environments=environments) for check in entry.checks)
    return replace(entry, cases=cases, checks=checks)


def origin(entry: Entry) -> str:
    """Return the name of the folder that an entry comes from; empty for the entries that ship."""
    folder = entry.path.resolve().parent.parent
    return "" if folder in _SHIPPED else read_settings(folder)[0].name


def _read_values(path: Path, folder: Path, diagnostics: Diagnostics) -> dict[str, str]:
    try:
        document = read_yaml(read_text(path, folder, YAML_BYTES))
    except UnreadableFile as error:
        diagnostics.add(1, "KB051", str(error))
        return {}
    except YamlError as error:
        diagnostics.add(error.line, "KB051", f"{error}; write key: value lines")
        return {}
    if not isinstance(document.data, dict):
        diagnostics.add(1, "KB051", f"no settings; write key: value lines, of {', '.join(_KEYS)}")
        return {}
    for line, problem in document.problems:
        diagnostics.add(line, "KB051", problem)
    for key, value in document.data.items():
        line = document.lines[key,]
        if key not in _KEYS:
            diagnostics.add(line, "KB051", f"unknown key {key[:40]!r}; there are {', '.join(_KEYS)}")
        elif not isinstance(value, str) or not _KEYS[key][1].fullmatch(value):
            diagnostics.add(line, "KB051", f"{key} takes {_KEYS[key][0]}, not {str(value)[:80]!r}")
    return document.data
