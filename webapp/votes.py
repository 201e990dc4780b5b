"""Votes on *Did this help?* in SQLite: one voice an address, entry and day.

A voter is kept as a keyed hash of address and entry, so that a second vote takes the place of the first. The key is random, belongs to one day
and is deleted with that day's hashes, after which nothing leads from a count to an address.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from datetime import UTC, datetime

__all__ = ["MAX_VOICES", "SCHEMA", "count_vote", "today"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS helped (entry TEXT, helped INTEGER, count INTEGER NOT NULL, PRIMARY KEY (entry, helped)) STRICT;
CREATE TABLE IF NOT EXISTS refused (entry TEXT, cause INTEGER, count INTEGER NOT NULL, PRIMARY KEY (entry, cause)) STRICT;
CREATE TABLE IF NOT EXISTS keys (day TEXT PRIMARY KEY, key BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS voices (voice BLOB PRIMARY KEY, helped INTEGER NOT NULL) STRICT, WITHOUT ROWID;
"""
MAX_VOICES = 100_000
"""Voices kept in a day. Further ones are not counted, so that a flood does not fill the disk."""


def count_vote(connection: sqlite3.Connection, entry: str, *, helped: bool, cause: int, address: str) -> None:
    """Count a vote on an entry, and where it is a No the cause that it is about (its number from 1; 0 for none)."""
    key = _key_of_today(connection)
    before = _replace_voice(connection, _voice(key, address, entry), helped=helped)
    if before is None or before != helped:
        _add(connection, "helped", entry, int(helped), 1)
    if before is not None and before != helped:
        _add(connection, "helped", entry, int(before), -1)
    if not helped and cause:
        voice = _voice(key, address, f"{entry}/{cause}")
        if _replace_voice(connection, voice, helped=False) is None:
            _add(connection, "refused", entry, cause, 1)


def today() -> str:
    """Return the day in UTC."""
    return datetime.now(UTC).date().isoformat()


def _key_of_today(connection: sqlite3.Connection) -> bytes:
    """Return the day's key. The first vote of a day makes it and forgets the voices of the day before."""
    day = today()
    connection.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (day, secrets.token_bytes(32)))
    if connection.execute("DELETE FROM keys WHERE day <> ?", (day,)).rowcount:
        connection.execute("DELETE FROM voices")
    key: bytes = connection.execute("SELECT key FROM keys").fetchone()[0]
    return key


def _voice(key: bytes, address: str, subject: str) -> bytes:
    return hashlib.blake2b(f"{address}\n{subject}".encode(), key=key, digest_size=16).digest()


def _replace_voice(connection: sqlite3.Connection, voice: bytes, *, helped: bool) -> bool | None:
    """Keep a voice and return what it said before, None where it is new. Beyond `MAX_VOICES` a new one counts as said already."""
    row = connection.execute("SELECT helped FROM voices WHERE voice = ?", (voice,)).fetchone()
    if row is None and connection.execute("SELECT count(*) FROM voices").fetchone()[0] >= MAX_VOICES:
        return helped
    connection.execute("INSERT OR REPLACE INTO voices VALUES (?, ?)", (voice, int(helped)))
    return None if row is None else bool(row[0])


def _add(connection: sqlite3.Connection, table: str, entry: str, column: int, count: int) -> None:
    connection.execute(
        f"INSERT INTO {table} VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",  # noqa: S608 - the name is ours
        (entry, column, count),
    )
