"""How many lookups and runs one address may make: a moving window per client, kept in memory and forgotten."""

from __future__ import annotations

import math
import time

import limits
from flask import Flask, current_app, request
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from werkzeug.exceptions import TooManyRequests

from webapp.settings import SettingError

__all__ = ["count_feedback", "count_lookup", "count_run", "init_app"]


def init_app(app: Flask) -> None:
    """Read the application's rates. Raises SettingError for one that cannot be read."""
    rates = {name: _read(name, app.config[name]) for name in ("RATE", "RUN_RATE")}
    app.extensions["kb-limits"] = MovingWindowRateLimiter(MemoryStorage()), rates


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
    limiter, rates = current_app.extensions["kb-limits"]
    for rate in rates[name]:
        key = (name, request.remote_addr or "")
        if not limiter.hit(rate, *key):
            again = limiter.get_window_stats(rate, *key).reset_time
            raise TooManyRequests(retry_after=max(1, math.ceil(again - time.time())))
