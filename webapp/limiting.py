"""How many lookups and runs one address may make: a moving window per client, kept in memory and forgotten."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import limits
from flask import Flask, current_app, request
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from werkzeug.exceptions import TooManyRequests

from webapp.settings import SettingError

__all__ = ["Limits", "allows", "count_feedback", "count_lookup", "count_run", "init_app"]


class Limits(NamedTuple):
    """The rates by name, and what counts against them."""

    limiter: MovingWindowRateLimiter
    rates: dict[str, list[limits.RateLimitItem]]


def init_app(app: Flask) -> None:
    """Read the application's rates. Raises SettingError for one that cannot be read."""
    rates = {name: _read(name, app.config[name]) for name in ("RATE", "RUN_RATE")}
    app.extensions["kb-limits"] = Limits(MovingWindowRateLimiter(MemoryStorage()), rates)


def allows(given: Limits, name: str, client: str) -> bool:
    """Tell whether a client may ask once more, and if so count it."""
    return _passed(given, name, client) is None


def count_lookup() -> None:
    """Count one lookup of this request's client. Ends the request with 429 and `Retry-After` when it has made too many."""
    _count("RATE")


def count_run() -> None:
    """Count one run in the same way."""
    _count("RUN_RATE")


def count_feedback() -> None:
    """Count one answer to *Did this help?* as a lookup is counted."""
    _count("RATE")


def _read(name: str, rate: str) -> list[limits.RateLimitItem]:
    try:
        return limits.parse_many(rate) if rate else []
    except ValueError:
        raise SettingError(f"KB_WEB_{name}={rate}: write a number and a unit, such as 120/minute") from None


def _count(name: str) -> None:
    given: Limits = current_app.extensions["kb-limits"]
    client = request.remote_addr or ""
    if passed := _passed(given, name, client):
        again = given.limiter.get_window_stats(passed, name, client).reset_time
        raise TooManyRequests(retry_after=max(1, math.ceil(again - time.time())))


def _passed(given: Limits, name: str, client: str) -> limits.RateLimitItem | None:
    """Count one request against each rate of that name; return the first that it exceeds."""
    return next((rate for rate in given.rates[name] if not given.limiter.hit(rate, name, client)), None)
