"""The operator's settings, read from `KB_WEB_` environment variables and `KB_REDIS`: one list for the application, the server and docs/web.md."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from typing import NamedTuple

from sandbox.redis_address import AddressError, check_address

__all__ = ["MAX_TEXT_BYTES", "SETTINGS", "Setting", "SettingError", "from_environment", "redis_address", "table"]

PREFIX = "KB_WEB_"
_BOOLEANS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off", ""), False)
MAX_TEXT_BYTES = 1 << 20
"""Length limit of a text to look up, in bytes of UTF-8. No traceback is longer."""


class SettingError(ValueError):
    """An environment variable has a wrong name or value. The text says what to write instead."""


class Setting(NamedTuple):
    """One setting. Its variable is `prefix` and the name; the default has its type; `minimum` holds for numbers."""

    name: str
    default: str | int | float | bool
    description: str
    minimum: int = 0
    prefix: str = PREFIX

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return self.prefix + self.name


SETTINGS = (
    Setting(
        "URL",
        "",
        "public address, such as `https://kb.example.org` or `https://tools.example.org/kb`: canonical links, sitemap and feed name it, "
        "and links carry its path; empty: links are relative to this host",
    ),
    Setting(
        "PROXIES",
        0,
        "number of reverse proxies in front whose `X-Forwarded-For`, `-Host`, `-Proto` and (where `KB_WEB_URL` is empty) `-Prefix` are believed",
    ),
    Setting("RATE", "120/minute", "lookups that one address may make; empty: any number"),
    Setting(
        "REDIS",
        "",
        "address of a Redis, such as `redis://:password@host:6379/0`, in which all workers and machines share limits, metrics and runs "
        "([operations.md](operations.md)); empty: each worker counts alone",
        prefix="KB_",
    ),
    Setting(
        "REDIS_GONE", "open", "what the limits do while that Redis is away: `open` lets everybody in, `closed` nobody"
    ),
    Setting("REFRESH", 2.0, "seconds between two checks for entries that changed on disk; 0: never"),
    Setting("WORKERS", 1, "processes that answer", minimum=1),
    Setting("THREADS", 4, "threads in each of them", minimum=1),
    Setting(
        "RUN",
        False,
        "whether readers may run an entry's programs, in a sandbox: of this process, which is then the only one, or with `KB_REDIS` "
        "of the machines with `kb worker`",
    ),
    Setting("RUN_SLOTS", 1, "programs that run at the same time; the others queue (without `KB_REDIS`)", minimum=1),
    Setting("RUN_RATE", "12/minute", "programs that one address may start; empty: any number"),
    Setting("RUN_BACKEND", "auto", "the sandbox for that: `auto`, `docker` or `bubblewrap` (without `KB_REDIS`)"),
    Setting(
        "MISSES",
        "",
        "SQLite file for counts of what was not answered and of *Did this help?*, or `redis` for `KB_REDIS`; empty: neither is kept nor asked",
    ),
    Setting("METRICS", True, "whether `/metrics` is served"),
    Setting("LOG", "json", "one line per request on standard error as `json` or `text`, or `off`"),
)


def from_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str | int | float | bool]:
    """Return every setting by name, from the environment or its default.

    Raises SettingError for a `KB_WEB_` variable that sets nothing and for a value of the wrong type.
    """
    names = [setting.name for setting in SETTINGS if setting.prefix == PREFIX]
    for variable in sorted(environment):
        if variable.startswith(PREFIX) and variable.removeprefix(PREFIX) not in names:
            nearest = difflib.get_close_matches(variable.removeprefix(PREFIX), names, n=1, cutoff=0.6)
            suggestion = f"did you mean {PREFIX}{nearest[0]}?" if nearest else "docs/web.md lists them"
            raise SettingError(f"{variable} is no setting: {suggestion}")
    return {setting.name: _parse(setting, environment.get(setting.variable)) for setting in SETTINGS}


def _parse(setting: Setting, value: str | None) -> str | int | float | bool:
    if value is None:
        return setting.default
    if isinstance(setting.default, bool):
        if value.lower() in _BOOLEANS:
            return _BOOLEANS[value.lower()]
        raise SettingError(f"{setting.variable}={value}: write true or false")
    if isinstance(setting.default, str):
        return value
    number: float | None
    try:
        number = int(value) if isinstance(setting.default, int) else float(value)
    except ValueError:
        number = None
    if number is None or not setting.minimum <= number < float("inf"):
        raise SettingError(f"{setting.variable}={value}: write a number from {setting.minimum} on")
    return number


def redis_address(url: str) -> str:
    """Return the address in KB_REDIS. Raises SettingError, without the address, for one that cannot be used."""
    try:
        return check_address(url)
    except AddressError as error:
        raise SettingError(f"KB_REDIS: {error}") from None


def table() -> str:
    """Return the settings as the Markdown table of docs/web.md."""
    rows = [f"| `{setting.variable}` | {_shown(setting.default)} | {setting.description} |" for setting in SETTINGS]
    return "\n".join(["| variable | default | what it sets |", "|---|---|---|", *rows])


def _shown(default: object) -> str:
    return "" if default == "" else f"`{str(default).lower() if isinstance(default, bool) else default}`"
