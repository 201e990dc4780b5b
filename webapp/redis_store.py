"""The Redis in which several web processes keep what they share: how it is reached, and what its answers mean."""

from __future__ import annotations

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from webapp.settings import SettingError

__all__ = ["SECONDS", "connect"]

SECONDS = 0.5
"""How long a request waits for Redis."""


def connect(url: str) -> Redis:
    """Return a client for the Redis at that address, which is not asked yet. Raises SettingError for an address that cannot be read."""
    try:
        return Redis.from_url(
            url,
            socket_timeout=SECONDS,
            socket_connect_timeout=SECONDS,
            retry=Retry(NoBackoff(), 1),  # once: a connection that was idle may have been closed
            health_check_interval=30,
        )
    except ValueError as error:
        raise SettingError(f"KB_REDIS={url.rpartition('@')[2]}: {error}") from None
