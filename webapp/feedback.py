"""Counts of errors that kb could not answer and of readers whom an entry helped, kept only where the operator asks for them.

A miss is kept as the error's type and the first line of its message with everything that varies taken out. Of its words, only those stay that
kb itself publishes and plain lower-case ones: names of people, projects, files, classes and variables do not get in.
"""

from __future__ import annotations

import builtins
import logging
import re
import sqlite3
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from kb.corpus.entry import Entry
from kb.text.lexer import lex
from webapp import votes
from webapp.settings import SettingError

__all__ = ["FeedbackStore", "SqliteFeedback", "anonymize", "open_feedback", "public_words"]

log = logging.getLogger("webapp")
_SCHEMA = "CREATE TABLE IF NOT EXISTS misses (message TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT;" + votes.SCHEMA
MAX_MESSAGES = 20_000
"""Messages kept at most, so that a flood of invented ones does not fill the disk."""
_LOCK_SECONDS = 0.5
"""How long a reader's request waits for another process that writes."""
_MAX_LENGTH = 200
"""Characters kept of a message."""
_PLAIN_WORD = re.compile(r"[a-z]{1,20}")
_BEFORE, _AFTER = " \t(", " \t),.:;!?"
"""Characters allowed beside a word of a sentence. A word in quotation marks, or attached to something else, is a name."""
_PUBLIC_PREFIXES = ("torch.", "aten::", "at::", "c10::", "torch::", "prims::", "cuda", "nccl", "cudnn", "cublas")
_PLACEHOLDERS = {"word": "name", "by": "shape", "address": "int", "cjk": "text"}


class FeedbackStore(Protocol):
    """Where the counts are kept."""

    def count_miss(self, message: str) -> None:
        """Count one anonymized message."""
        ...

    def count_vote(self, entry: str, *, helped: bool, cause: int = 0, address: str = "") -> None:
        """Count one reader whom the entry helped, or who says that it was not this cause (its number from 1, 0 for none).

        An address has one voice an entry a day; a later vote takes the place of the earlier one.
        """
        ...

    def misses(self) -> list[tuple[str, int]]:
        """Return (message, count), most frequent first. Raises OSError where they cannot be read."""
        ...

    def votes(self) -> list[tuple[str, int, int]]:
        """Return (entry, readers helped, readers not helped), least helpful first. Raises OSError where they cannot be read."""
        ...

    def refused_causes(self) -> list[tuple[str, int, int]]:
        """Return (entry, number of the cause, readers who said that it was not this), most often refused first. Raises OSError where they cannot be read."""
        ...


class SqliteFeedback:
    """A `FeedbackStore` in one SQLite file, shared by all workers of a machine.

    A failed write is logged and not raised, because it is the operator's trouble and not the reader's.
    """

    def __init__(self, path: str | Path, *, max_messages: int = MAX_MESSAGES) -> None:
        self.path = Path(path)
        self._max_messages = max_messages

    def count_miss(self, message: str) -> None:
        """Count one anonymized message. A new one is dropped when `max_messages` are kept already."""
        upsert = "INSERT INTO misses VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1"
        update = "UPDATE misses SET count = count + 1 WHERE message = ?"
        with self._errors_logged(), self._connect() as connection:
            full = connection.execute("SELECT count(*) >= ? FROM misses", (self._max_messages,)).fetchone()[0]
            connection.execute(update if full else upsert, (message,))

    def count_vote(self, entry: str, *, helped: bool, cause: int = 0, address: str = "") -> None:
        """Count one reader; see `FeedbackStore.count_vote`."""
        with self._errors_logged(), self._connect() as connection:
            votes.count_vote(votes.SqliteVotes(connection), entry, helped=helped, cause=cause, address=address)

    def refused_causes(self) -> list[tuple[str, int, int]]:
        """Return the causes that were refused; see `FeedbackStore`."""
        with self._reading() as connection:
            return connection.execute("SELECT * FROM refused ORDER BY count DESC, entry, cause").fetchall()

    def misses(self) -> list[tuple[str, int]]:
        """Return what was missed; see `FeedbackStore`."""
        with self._reading() as connection:
            return connection.execute("SELECT message, count FROM misses ORDER BY count DESC, message").fetchall()

    def votes(self) -> list[tuple[str, int, int]]:
        """Return the votes; see `FeedbackStore`."""
        query = (
            "SELECT entry, sum(count * helped), sum(count * (1 - helped)) FROM helped "
            "GROUP BY entry ORDER BY 3 DESC, 2, 1"
        )
        with self._reading() as connection:
            return connection.execute(query).fetchall()

    @contextmanager
    def _errors_logged(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            log.error("KB_WEB_MISSES=%s: %s", self.path, error)  # noqa: TRY400 - one line says it

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=_LOCK_SECONDS)) as connection, connection:
            connection.executescript(_SCHEMA)
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if not self.path.is_file():
            raise FileNotFoundError(
                f"{self.path}: no misses are kept there; the server keeps them in the file that KB_WEB_MISSES names"
            )
        with closing(sqlite3.connect(f"file:{self.path.resolve()}?mode=ro", uri=True, timeout=2)) as connection:
            yield connection


def open_feedback(place: str | Path, redis: str = "") -> FeedbackStore:
    """Return the counts in a SQLite file, or those in the Redis at that address where the place is `redis`. Raises SettingError."""
    if str(place) != "redis":
        return SqliteFeedback(place)
    if not redis:
        raise SettingError("KB_WEB_MISSES=redis needs KB_REDIS, the address of that Redis")
    from webapp.redis_feedback import RedisFeedback

    return RedisFeedback(redis, max_messages=MAX_MESSAGES)


def public_words(entries: Iterable[Entry]) -> frozenset[str]:
    """Return the words, lower-cased, of the entries' messages, APIs, tags and English prose."""
    words: set[str] = set()
    for entry in entries:
        texts = [*(message.text for message in entry.messages), *entry.apis, *entry.tags, entry.prose("en")]
        words |= {token.text for text in texts for token in lex(text)}
    return frozenset(words)


def anonymize(error_type: str, message: str, public: AbstractSet[str]) -> str:
    """Return `Type: message` with placeholders for all that varies or might name something.

    `public` are words that may stay. Returns an empty string for an exception type that is not Python's or torch's own.
    """
    if not (_is_builtin(error_type) or error_type.startswith("torch.") or error_type.lower() in public):
        return ""
    line = next(iter(message.strip().splitlines()), "")
    words = [_anonymous_word(line, token.start, token.raw, token.type, public) for token in lex(line)]
    kept: list[str] = []
    for word in words:
        if not (kept and word == kept[-1] and word.startswith("{")):
            kept.append(word)
    return f"{error_type}: {' '.join(kept)}"[:_MAX_LENGTH] if kept else ""


def _is_builtin(error_type: str) -> bool:
    builtin = getattr(builtins, error_type, None)
    return isinstance(builtin, type) and issubclass(builtin, BaseException)


def _anonymous_word(line: str, start: int, raw: str, token_type: str, public: AbstractSet[str]) -> str:
    """Return a token of the line as it is kept."""
    if token_type != "word":  # noqa: S105 - a kind of token
        return f"{{{_PLACEHOLDERS.get(token_type, token_type)}}}"
    folded = raw.lower()
    if folded in public or folded.startswith(_PUBLIC_PREFIXES):
        return raw
    before, after = line[:start], line[start + len(raw) :]
    separate = (not before or before[-1] in _BEFORE) and (not after or after[0] in _AFTER)
    begins_sentence = not before.strip() or before.rstrip().endswith((".", "!", "?"))
    if separate and _PLAIN_WORD.fullmatch(folded if begins_sentence and raw[1:].islower() else raw):
        return raw
    return "{name}"
