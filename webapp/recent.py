"""Answers of the last moments, so that a question asked again is answered without looking it up again.

A link to a question goes round, a job fails on each of its nodes, a reader goes back and forth: the same request comes many times within a minute.
What is held lives in this process's memory alone, under a hash with a key that the process made up, and is gone when its time is over.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from typing import Generic, NamedTuple, Protocol, TypeVar

__all__ = ["Recent"]

_MOST_BYTES = 16 << 20
"""How much is held in all, in bytes of answers."""


class _Sized(Protocol):
    @property
    def body(self) -> bytes: ...


T = TypeVar("T", bound=_Sized)


class _Held(NamedTuple, Generic[T]):
    until: float
    answer: T


class Recent(Generic[T]):
    """Answers by the hash of what was asked, each for `seconds`; the oldest go first when there are too many. 0 seconds holds nothing."""

    def __init__(self, seconds: float, *, most_bytes: int = _MOST_BYTES) -> None:
        self.seconds = seconds
        self._most = most_bytes
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._held: dict[bytes, _Held[T]] = {}
        self._bytes = 0
        self._sweeping = False

    def hash(self, *parts: bytes) -> bytes:
        """Return the name under which the answer to a request made of these parts is held."""
        named = hashlib.blake2b(key=self._key, digest_size=16)
        for part in parts:
            named.update(len(part).to_bytes(8, "little"))
            named.update(part)
        return named.digest()

    def get(self, name: bytes) -> T | None:
        """Return the answer held under that name, or None."""
        held = self._held.get(name)
        return held.answer if held and held.until > time.monotonic() else None

    def put(self, name: bytes, answer: T) -> None:
        """Hold an answer from now on."""
        size = len(answer.body)
        if not self.seconds or size > self._most:
            return
        with self._lock:
            self._drop(name)
            self._held[name] = _Held(time.monotonic() + self.seconds, answer)
            self._bytes += size
            while self._bytes > self._most:
                self._drop(next(iter(self._held)))
            self._sweep_later()

    def clear(self) -> None:
        """Hold nothing of what there was."""
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def _drop(self, name: bytes) -> None:
        if held := self._held.pop(name, None):
            self._bytes -= len(held.answer.body)

    def _sweep_later(self) -> None:
        """See to it that what is out of date goes even if nobody asks any more."""
        if self._held and not self._sweeping:
            self._sweeping = True
            timer = threading.Timer(self.seconds, self._sweep)
            timer.daemon = True
            timer.start()

    def _sweep(self) -> None:
        with self._lock:
            now = time.monotonic()
            for name in [name for name, held in self._held.items() if held.until <= now]:
                self._drop(name)
            self._sweeping = False
            self._sweep_later()
