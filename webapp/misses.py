"""What kb could not answer, and whether its answers helped: counts alone, in SQLite, and only if the operator asks for them.

A miss is kept as the error's type and the first line of its message with everything that varies taken out. Of words, only those that kb itself
publishes and plain lower-case ones stay: names of people, projects, files, classes and variables do not get in.
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

from kb.entry import Entry
from kb.lexer import lex

__all__ = ["count_helped", "count_miss", "normalize", "read", "read_helped", "vocabulary"]

log = logging.getLogger("webapp")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS misses (message TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS helped (entry TEXT, helped INTEGER, count INTEGER NOT NULL, PRIMARY KEY (entry, helped)) STRICT;
"""
_MOST_MESSAGES = 20_000
"""Messages kept at most; a flood of invented ones fills no disk."""
_LONGEST = 200
_PLAIN = re.compile(r"[a-z]{1,20}")
_BEFORE, _AFTER = " \t(", " \t),.:;!?"
"""What may stand beside a word of a sentence; a word in quotation marks, or glued to something, is a name."""
_PUBLIC = ("torch.", "aten::", "at::", "c10::", "torch::", "prims::", "cuda", "nccl", "cudnn", "cublas")
_PLACEHOLDERS = {"word": "name", "by": "shape", "address": "int", "cjk": "text"}


def vocabulary(entries: Iterable[Entry]) -> frozenset[str]:
    """Return the words, lower-cased, that the entries' messages, interfaces and English prose already tell everybody."""
    found: set[str] = set()
    for entry in entries:
        prose = entry.prose["en"]
        texts = [*(message.text for message in entry.messages), *entry.apis, *entry.tags, prose.why, prose.fix]
        found |= {token.text for text in texts for token in lex(text)}
    return frozenset(found)


def normalize(type_: str, message: str, known: AbstractSet[str]) -> str:
    """Return `Type: message` with placeholders for all that varies or might name something; empty for a type that is not Python's or torch's."""
    if not (_is_builtin(type_) or type_.startswith("torch.") or type_.lower() in known):
        return ""
    line = next(iter(message.strip().splitlines()), "")
    words = [_word(line, token.start, token.raw, token.type, known) for token in lex(line)]
    kept: list[str] = []
    for word in words:
        if not (kept and word == kept[-1] and word.startswith("{")):
            kept.append(word)
    return f"{type_}: {' '.join(kept)}"[:_LONGEST] if kept else ""


def count_miss(path: str | Path, message: str) -> None:
    """Count one normalized message. That this fails is the operator's trouble, not the reader's: it is logged."""
    with _told(path), _open(path) as base:
        full = base.execute("SELECT count(*) >= ? FROM misses", (_MOST_MESSAGES,)).fetchone()[0]
        if full:
            base.execute("UPDATE misses SET count = count + 1 WHERE message = ?", (message,))
        else:
            base.execute("INSERT INTO misses VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1", (message,))


def count_helped(path: str | Path, entry: str, *, helped: bool) -> None:
    """Count one reader whom the entry helped, or did not. That this fails is logged likewise."""
    with _told(path), _open(path) as base:
        base.execute(
            "INSERT INTO helped VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1", (entry, int(helped))
        )


def read(path: str | Path) -> list[tuple[str, int]]:
    """Return (message, count) of what was not answered, most wanted first. Raises OSError when there is no such file."""
    with _open_to_read(path) as base:
        return base.execute("SELECT message, count FROM misses ORDER BY count DESC, message").fetchall()


def read_helped(path: str | Path) -> list[tuple[str, int, int]]:
    """Return (entry, readers helped, readers not helped), those that helped least first. Raises OSError when there is no such file."""
    query = (
        "SELECT entry, sum(count * helped), sum(count * (1 - helped)) FROM helped GROUP BY entry ORDER BY 3 DESC, 2, 1"
    )
    with _open_to_read(path) as base:
        return base.execute(query).fetchall()


def _is_builtin(type_: str) -> bool:
    found = getattr(builtins, type_, None)
    return isinstance(found, type) and issubclass(found, BaseException)


def _word(line: str, start: int, raw: str, kind: str, known: AbstractSet[str]) -> str:
    """Return a token of the line as it is kept."""
    if kind != "word":
        return f"{{{_PLACEHOLDERS.get(kind, kind)}}}"
    folded = raw.lower()
    if folded in known or folded.startswith(_PUBLIC):
        return raw
    before, after = line[:start], line[start + len(raw) :]
    alone = (not before or before[-1] in _BEFORE) and (not after or after[0] in _AFTER)
    begins = not before.strip() or before.rstrip().endswith((".", "!", "?"))
    if alone and _PLAIN.fullmatch(folded if begins and raw[1:].islower() else raw):
        return raw
    return "{name}"


@contextmanager
def _told(path: str | Path) -> Iterator[None]:
    """Log what SQLite cannot do, and go on behind it."""
    try:
        yield
    except sqlite3.Error as fault:
        log.error("KB_WEB_MISSES=%s: %s", path, fault)  # noqa: TRY400 - one line says it


@contextmanager
def _open(path: str | Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, timeout=2)) as base, base:
        base.executescript(_SCHEMA)
        yield base


@contextmanager
def _open_to_read(path: str | Path) -> Iterator[sqlite3.Connection]:
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"{path}: no misses are kept there; the server keeps them in the file that KB_WEB_MISSES names"
        )
    with closing(sqlite3.connect(f"file:{Path(path).resolve()}?mode=ro", uri=True, timeout=2)) as base:
        yield base
