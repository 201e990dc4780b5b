"""Rate limits: how many look-ups and runs one client may make, in a moving window."""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections.abc import Mapping

import limits
from limits.errors import ConfigurationError, StorageError
from limits.storage import MemoryStorage, RedisStorage, Storage
from limits.strategies import MovingWindowRateLimiter
from werkzeug.exceptions import ServiceUnavailable, TooManyRequests

from webapp.settings import SettingError, redis_address

__all__ = ["RateLimiter", "client_key"]

log = logging.getLogger("webapp")
_REDIS_SECONDS = 0.5
"""How long a request waits for Redis."""
_RETRY_SECONDS = 10
_IPV6_PREFIX = 64
"""Bits of an IPv6 address that name a client: one subscriber is given all addresses that begin with them."""


class RateLimiter:
    """Counts requests of each client against named rates.

    `rates` maps a setting's name to a rate such as `120/minute`; an empty one is no limit. The counts are in the Redis at that address, or in this
    process where there is none. `without_redis` says whether everybody gets in while Redis is away (`open`) or nobody (`closed`).
    """

    def __init__(self, rates: Mapping[str, str], redis: str = "", *, without_redis: str = "open") -> None:
        """Raises SettingError for a rate, an address or a choice that cannot be read. A Redis that is away is no error."""
        if without_redis not in ("open", "closed"):
            raise SettingError(f"KB_WEB_REDIS_GONE={without_redis}: write open or closed")
        self._rates = {name: _parse(name, rate) for name, rate in rates.items()}
        self._lets_in = without_redis == "open"
        self._limiter = MovingWindowRateLimiter(_storage(redis))

    def check(self, name: str, address: str) -> None:
        """Count one request of the client at that address.

        Raises TooManyRequests (429 with `Retry-After`) when a rate is exceeded, and ServiceUnavailable (503) where the limits are closed because Redis is
        away.
        """
        try:
            self._count(name, client_key(address))
        except StorageError as error:
            log.warning("rate limits: Redis is away: %s", error)
            if not self._lets_in:
                raise ServiceUnavailable(retry_after=_RETRY_SECONDS) from error

    def _count(self, name: str, client: str) -> None:
        for rate in self._rates[name]:
            if not self._limiter.hit(rate, name, client):
                reset_time = self._limiter.get_window_stats(rate, name, client).reset_time
                raise TooManyRequests(retry_after=max(1, math.ceil(reset_time - time.time())))


def client_key(address: str) -> str:
    """Return the key of the client at that address: an IPv4 address, or the network of an IPv6 address' subscriber."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((ip, _IPV6_PREFIX), strict=False))


def _storage(redis: str) -> Storage:
    if not redis:
        return MemoryStorage()
    try:
        return RedisStorage(
            redis_address(redis),
            wrap_exceptions=True,
            socket_timeout=_REDIS_SECONDS,
            socket_connect_timeout=_REDIS_SECONDS,
        )
    except ConfigurationError as error:
        raise SettingError(f"KB_REDIS: {error}; pip install 'kb-torch[cluster]'") from None


def _parse(name: str, rate: str) -> list[limits.RateLimitItem]:
    try:
        return limits.parse_many(rate) if rate else []
    except ValueError:
        raise SettingError(f"KB_WEB_{name}={rate}: write a number and a unit, such as 120/minute") from None
