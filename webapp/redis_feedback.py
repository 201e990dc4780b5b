"""Counts of what was not answered and of *Did this help?* in a Redis, which all web processes and machines share."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from redis import RedisError

from webapp import votes
from webapp.redis_store import connect

__all__ = ["RedisFeedback"]

log = logging.getLogger("webapp")
_MISSES = "kb:misses"
_DAYS_KEY = "kb:votes:key"
_VOICES = "kb:votes:voices"


class RedisFeedback:
    """A `FeedbackStore` in hashes of a Redis. The day's key and its voices expire with the day.

    A failed write is logged and not raised, because it is the operator's trouble and not the reader's.
    """

    def __init__(self, url: str, *, max_messages: int) -> None:
        self._redis = connect(url)
        self._max_messages = max_messages

    def count_miss(self, message: str) -> None:
        """Count one anonymized message. A new one is dropped when `max_messages` are kept already."""
        with self._errors_logged():
            if self._redis.hlen(_MISSES) < self._max_messages or self._redis.hexists(_MISSES, message):
                self._redis.hincrby(_MISSES, message, 1)

    def count_vote(self, entry: str, *, helped: bool, cause: int = 0, address: str = "") -> None:
        """Count one reader; see `FeedbackStore`."""
        with self._errors_logged():
            votes.count_vote(self, entry, helped=helped, cause=cause, address=address)

    def key_of_today(self) -> bytes:
        """Return the day's key; see `votes.VoteStore`."""
        self._redis.set(_DAYS_KEY, secrets.token_bytes(32), nx=True, exat=_midnight())
        key: Any = self._redis.get(_DAYS_KEY)
        return key or secrets.token_bytes(32)  # midnight came between

    def replace_voice(self, voice: bytes, *, helped: bool) -> bool | None:
        """Keep a voice; see `votes.VoteStore`."""
        name = f"kb:votes:voice:{voice.hex()}"
        count: Any = self._redis.get(_VOICES)
        if int(count or 0) >= votes.MAX_VOICES and not self._redis.exists(name):
            return helped
        before: Any = self._redis.set(name, int(helped), get=True, exat=_midnight())
        if before is None:
            self._redis.incr(_VOICES)
            self._redis.expireat(_VOICES, _midnight())
        return None if before is None else bool(int(before))

    def add(self, table: votes.Table, entry: str, column: int, count: int) -> None:
        """Add to a count; see `votes.VoteStore`."""
        self._redis.hincrby(f"kb:{table}", json.dumps([entry, column]), count)

    def misses(self) -> list[tuple[str, int]]:
        """Return what was missed; see `FeedbackStore`."""
        return sorted(self._read(_MISSES), key=lambda row: (-row[1], row[0]))

    def votes(self) -> list[tuple[str, int, int]]:
        """Return the votes; see `FeedbackStore`."""
        by_entry: dict[str, list[int]] = {}
        for field, count in self._read("kb:helped"):
            entry, helped = json.loads(field)
            by_entry.setdefault(entry, [0, 0])[helped] += count
        rows = [(entry, helped, not_helped) for entry, (not_helped, helped) in by_entry.items()]
        return sorted(rows, key=lambda row: (-row[2], row[1], row[0]))

    def refused_causes(self) -> list[tuple[str, int, int]]:
        """Return the causes that were refused; see `FeedbackStore`."""
        rows = [(*json.loads(field), count) for field, count in self._read("kb:refused")]
        return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))

    def _read(self, table: str) -> list[tuple[str, int]]:
        try:
            counts: Any = self._redis.hgetall(table)
        except RedisError as error:
            raise OSError(f"KB_REDIS does not answer: {error}") from error
        return [(field.decode(), int(count)) for field, count in counts.items()]

    @contextmanager
    def _errors_logged(self) -> Iterator[None]:
        try:
            yield
        except RedisError as error:
            log.error("KB_WEB_MISSES=redis: %s", error)  # noqa: TRY400 - one line says it


def _midnight() -> int:
    """Return the end of the day in UTC, in seconds since 1970."""
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    return int(datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=UTC).timestamp())
