"""Votes on *Did this help?*: one voice an address, entry and day, in SQLite or wherever else a `VoteStore` keeps them.

A voter is kept as a keyed hash of address and entry, so that a second vote takes the place of the first. The key is random, belongs to one day
and is deleted with that day's hashes, after which nothing leads from a count to an address.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from datetime import UTC, datetime
from typing import Literal, Protocol

__all__ = ["MAX_VOICES", "SCHEMA", "SqliteVotes", "VoteStore", "count_vote", "today"]

Table = Literal["helped", "refused"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS helped (entry TEXT, helped INTEGER, count INTEGER NOT NULL, PRIMARY KEY (entry, helped)) STRICT;
CREATE TABLE IF NOT EXISTS refused (entry TEXT, cause INTEGER, count INTEGER NOT NULL, PRIMARY KEY (entry, cause)) STRICT;
CREATE TABLE IF NOT EXISTS keys (day TEXT PRIMARY KEY, key BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS voices (voice BLOB PRIMARY KEY, helped INTEGER NOT NULL) STRICT, WITHOUT ROWID;
"""
MAX_VOICES = 100_000
"""Voices kept in a day. Further ones are not counted, so that a flood does not fill the disk."""


class VoteStore(Protocol):
    """Keeps counts, and the voices of the present day."""

    def key_of_today(self) -> bytes:
        """Return the day's key. The first vote of a day makes it and forgets the voices of the day before."""
        ...

    def replace_voice(self, voice: bytes, *, helped: bool) -> bool | None:
        """Keep a voice and return what it said before, None where it is new. Beyond `MAX_VOICES` a new one counts as said already."""
        ...

    def add(self, table: Table, entry: str, column: int, count: int) -> None:
        """Add to the readers whom an entry helped (column 1) or not (0), or to those who refused the cause with the number of the column."""
        ...


def count_vote(store: VoteStore, entry: str, *, helped: bool, cause: int, address: str) -> None:
    """Count a vote on an entry, and where it is a No the cause that it is about (its number from 1; 0 for none)."""
    key = store.key_of_today()
    before = store.replace_voice(_voice(key, address, entry), helped=helped)
    if before is None or before != helped:
        store.add("helped", entry, int(helped), 1)
    if before is not None and before != helped:
        store.add("helped", entry, int(before), -1)
    if not helped and cause:
        voice = _voice(key, address, f"{entry}/{cause}")
        if store.replace_voice(voice, helped=False) is None:
            store.add("refused", entry, cause, 1)


def today() -> str:
    """Return the day in UTC."""
    return datetime.now(UTC).date().isoformat()


def _voice(key: bytes, address: str, subject: str) -> bytes:
    return hashlib.blake2b(f"{address}\n{subject}".encode(), key=key, digest_size=16).digest()


class SqliteVotes:
    """A `VoteStore` in the tables of `SCHEMA`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def key_of_today(self) -> bytes:
        """See `VoteStore`."""
        day, execute = today(), self._connection.execute
        execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (day, secrets.token_bytes(32)))
        if execute("DELETE FROM keys WHERE day <> ?", (day,)).rowcount:
            execute("DELETE FROM voices")
        key: bytes = execute("SELECT key FROM keys").fetchone()[0]
        return key

    def replace_voice(self, voice: bytes, *, helped: bool) -> bool | None:
        """See `VoteStore`."""
        execute = self._connection.execute
        row = execute("SELECT helped FROM voices WHERE voice = ?", (voice,)).fetchone()
        if row is None and execute("SELECT count(*) FROM voices").fetchone()[0] >= MAX_VOICES:
            return helped
        execute("INSERT OR REPLACE INTO voices VALUES (?, ?)", (voice, int(helped)))
        return None if row is None else bool(row[0])

    def add(self, table: Table, entry: str, column: int, count: int) -> None:
        """See `VoteStore`."""
        self._connection.execute(
            f"INSERT INTO {table} VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",  # noqa: S608 - the name is ours
            (entry, column, count),
        )
