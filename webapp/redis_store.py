"""The Redis in which several web processes keep what they share: how it is reached, and what its answers mean."""

from __future__ import annotations

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from sandbox.redis_address import why_refused
from webapp.settings import SettingError, redis_address

__all__ = ["SECONDS", "connect", "require_admission"]

SECONDS = 0.5
"""How long a request waits for Redis."""


def connect(url: str) -> Redis:
    """Return a client for the Redis at that address, which is not asked yet. Raises SettingError for an address that cannot be read."""
    return Redis.from_url(
        redis_address(url),
        socket_timeout=SECONDS,
        socket_connect_timeout=SECONDS,
        retry=Retry(NoBackoff(), 1),  # once: a connection that was idle may have been closed
        health_check_interval=30,
    )


def require_admission(url: str) -> None:
    """Raise SettingError where that Redis refuses the password or has a certificate that is not trusted. One that is away is no error."""
    with connect(url) as redis:
        try:
            redis.ping()
        except RedisError as error:
            if reason := why_refused(error):
                raise SettingError(f"KB_REDIS: the Redis {reason}") from error
