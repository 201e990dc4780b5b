"""How many lookups one address may make: a moving window per client, kept in memory and forgotten."""

from __future__ import annotations

import math
import time

import limits
from flask import Flask, current_app, request
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from werkzeug.exceptions import TooManyRequests

from webapp.settings import SettingError

__all__ = ["count_lookup", "init_app"]


def init_app(app: Flask) -> None:
    """Read the application's rate. Raises SettingError for one that cannot be read."""
    try:
        rates = limits.parse_many(app.config["RATE"]) if app.config["RATE"] else []
    except ValueError:
        raise SettingError(f"KB_WEB_RATE={app.config['RATE']}: write a number and a unit, such as 120/minute") from None
    app.extensions["kb-limits"] = MovingWindowRateLimiter(MemoryStorage()), rates


def count_lookup() -> None:
    """Count one lookup of this request's client. Ends the request with 429 and `Retry-After` when it has made too many."""
    limiter, rates = current_app.extensions["kb-limits"]
    client = request.remote_addr or ""
    for rate in rates:
        if not limiter.hit(rate, client):
            again = limiter.get_window_stats(rate, client).reset_time
            raise TooManyRequests(retry_after=max(1, math.ceil(again - time.time())))
