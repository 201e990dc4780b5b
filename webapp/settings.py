"""What an operator can set, each by an environment variable: the one list that the application, the server, the README and docs/web.md read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["MAX_TEXT_BYTES", "SETTINGS", "Setting", "SettingError", "from_environment", "table"]

PREFIX = "KB_WEB_"
_TRUTH = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off", ""), False)
MAX_TEXT_BYTES = 1 << 20
"""The longest text that is looked up, in bytes of UTF-8: more than any traceback, little enough to be answered at once."""


class SettingError(ValueError):
    """An environment variable that cannot be read as what it sets."""


class Setting(NamedTuple):
    """One setting: its name (the variable is `KB_WEB_` and the name), its default, whose type it has, what it does, and the least number."""

    name: str
    default: str | int | float | bool
    what: str
    least: int = 0


SETTINGS = (
    Setting(
        "URL",
        "",
        "public address, such as `https://kb.example.org`: canonical links, sitemap and feed name it; empty: links are relative",
    ),
    Setting(
        "PROXIES",
        0,
        "number of reverse proxies in front whose `X-Forwarded-For`, `X-Forwarded-Host` and `X-Forwarded-Proto` are believed",
    ),
    Setting("RATE", "120/minute", "lookups that one address may make, in each worker; empty: any number"),
    Setting("REFRESH", 2.0, "seconds between two looks for entries that changed on disk; 0: never"),
    Setting(
        "RECENT",
        60.0,
        "seconds for which an answer stays in memory, so that the same question asked again needs no look-up; 0: not at all",
    ),
    Setting("WORKERS", 1, "processes that answer", least=1),
    Setting("THREADS", 4, "threads in each of them", least=1),
    Setting("RUN", False, "whether readers may run an entry's programs, in a sandbox; needs one worker"),
    Setting("RUN_SLOTS", 1, "programs that run at the same time; the others queue", least=1),
    Setting("RUN_RATE", "12/minute", "programs that one address may start; empty: any number"),
    Setting("RUN_BACKEND", "auto", "the sandbox for that: `auto`, `docker` or `bubblewrap`"),
    Setting(
        "MISSES",
        "",
        "SQLite file for counts of what was not answered and of *Did this help?*; empty: neither is kept nor asked",
    ),
    Setting("METRICS", True, "whether `/metrics` is there"),
    Setting("LOG", "json", "one line per request on standard error as `json` or `text`, or `off`"),
)


def from_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str | int | float | bool]:
    """Return every setting by name, from the environment or its default. Raises SettingError for a value of the wrong type."""
    return {item.name: _read(item, environment.get(PREFIX + item.name)) for item in SETTINGS}


def _read(item: Setting, value: str | None) -> str | int | float | bool:
    if value is None:
        return item.default
    kind = type(item.default)
    if kind is bool:
        if value.lower() in _TRUTH:
            return _TRUTH[value.lower()]
        raise SettingError(f"{PREFIX}{item.name}={value}: write true or false")
    if isinstance(item.default, str):
        return value
    number: float | None
    try:
        number = int(value) if isinstance(item.default, int) else float(value)
    except ValueError:
        number = None
    if number is None or not item.least <= number < float("inf"):
        raise SettingError(f"{PREFIX}{item.name}={value}: write a number from {item.least} on")
    return number


def table() -> str:
    """Return the settings as a Markdown table, the one in the README and in docs/web.md."""
    rows = [f"| `{PREFIX}{item.name}` | {_shown(item.default)} | {item.what} |" for item in SETTINGS]
    return "\n".join(["| variable | default | what it sets |", "|---|---|---|", *rows])


def _shown(default: object) -> str:
    return "" if default == "" else f"`{str(default).lower() if isinstance(default, bool) else default}`"
