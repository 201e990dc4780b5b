"""One LMDB file of an index: named tables, each from strings to JSON values, to sets of them, or to postings.

A generation of the index is never written after it was published. So readers open it read-only and without a lock file,
which also works on network file systems, and any number of threads and processes read it at once.
"""

from __future__ import annotations

import json
import os
from _thread import _local
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Any
from weakref import WeakValueDictionary

import lmdb

__all__ = ["Row", "StorageError", "Store", "write_store"]

Row = tuple[str, str, Any]
"""A table, a key, and what stands there: a JSON value, a member of a set, or a posting as a tuple of the entry's number and the weight."""

_SET = {"dupsort": True}
_POSTINGS = {"dupsort": True, "dupfixed": True}
TABLES = {
    "meta": {},
    "documents": {},
    "summaries": {},
    "sources": {},
    "redirects": {},
    "slugs": {},
    "templates": {},
    "anchors": _SET,
    "first_words": _SET,
    "message_words": _POSTINGS,
    "terms": {},
    "postings": _POSTINGS,
    "words": _POSTINGS,
    "deletions": _SET,
}
"""The tables with LMDB's flags. Several values of a key are LMDB's own sorted duplicates, so one is added or removed alone."""

_POSTING = Struct(">Id")
_MAX_KEY_BYTES = 500
"""LMDB refuses keys of more than 511 bytes. What begins with this many equal ones is no word that anyone asks for."""

_MIN_MAP_BYTES = 1 << 26
_ENTRY_MAP_BYTES = 1 << 20

_open_environments: WeakValueDictionary[str, _Environment] = WeakValueDictionary()
"""py-lmdb does not allow a process to open the same file twice, nor a forked one to open what its parent has open.

A forked process goes on with its parent's environments: without locks they are no more than a map of a file that never changes.
"""


class StorageError(Exception):
    """The index cannot be read or written. The text says why and what to do."""


class _Environment:
    """An open LMDB file with its tables, and a read transaction for each thread."""

    def __init__(self, path: str) -> None:
        try:
            self._env = lmdb.open(path, subdir=False, readonly=True, lock=False, max_dbs=len(TABLES), readahead=False)
            self.tables = {name: self._env.open_db(name.encode(), create=False) for name in TABLES}
        except (lmdb.Error, OSError) as error:
            raise StorageError(f"{path} cannot be read, or holds no index of this version ({error})") from error
        self._threads = _local()

    def transaction(self) -> lmdb.Transaction:
        transaction: lmdb.Transaction | None = getattr(self._threads, "transaction", None)
        if transaction is None:
            transaction = self._threads.transaction = self._env.begin()
        return transaction


class Store:
    """The tables of one LMDB file, as transactions see them."""

    def __init__(self, tables: dict[str, Any], transaction: Callable[[], lmdb.Transaction]) -> None:
        self._tables = tables
        self._transaction = transaction

    @classmethod
    def open(cls, path: str) -> Store:
        """Open a published file for reading; raises `StorageError` if it is missing or is no index."""
        key = os.path.realpath(path)
        environment = _open_environments.get(key)
        if environment is None:
            environment = _open_environments[key] = _Environment(path)
        return cls(environment.tables, environment.transaction)

    def get(self, table: str, key: str) -> Any:
        """Return the value of the key, or None."""
        raw = self._transaction().get(_encode(key), db=self._tables[table])
        return None if raw is None else json.loads(bytes(raw))

    def size(self, table: str) -> int:
        """Return the number of values in a table."""
        size: int = self._transaction().stat(self._tables[table])["entries"]
        return size

    def items(self, table: str) -> Iterator[tuple[str, Any]]:
        """Yield the keys of a table in order, with their values."""
        for key, raw in self._transaction().cursor(db=self._tables[table]):
            yield bytes(key).decode(), json.loads(bytes(raw))

    def count(self, table: str, key: str) -> int:
        """Return the number of members or postings of the key."""
        cursor = self._transaction().cursor(db=self._tables[table])
        return cursor.count() if cursor.set_key(_encode(key)) else 0

    def members(self, table: str, key: str) -> list[Any]:
        """Return the members of the set of the key."""
        cursor = self._transaction().cursor(db=self._tables[table])
        return [json.loads(bytes(raw)) for raw in cursor.iternext_dup()] if cursor.set_key(_encode(key)) else []

    def postings(self, table: str, key: str) -> Iterator[tuple[int, float]]:
        """Return the numbers of the entries that have the key, with its weight in each."""
        cursor = self._transaction().cursor(db=self._tables[table])
        raw = b"".join(cursor.iternext_dup()) if cursor.set_key(_encode(key)) else b""
        return _POSTING.iter_unpack(raw)

    def put(self, rows: Iterable[Row]) -> None:
        """Write the rows."""
        for table, key, value in rows:
            self._transaction().put(_encode(key), _dump(value), db=self._tables[table])

    def delete(self, rows: Iterable[Row]) -> None:
        """Remove the rows. Of a key with one value that goes, whatever it is."""
        for table, key, value in rows:
            self._transaction().delete(_encode(key), _dump(value), db=self._tables[table])


@contextmanager
def write_store(path: str, previous: str = "", entries: int = 0) -> Iterator[Store]:
    """Yield a store that writes `path`, a copy of the file `previous` if that is given; all of it is written at the end, or nothing.

    There is room for `entries` more. Raises `StorageError` if the disk is full or cannot be written.
    """
    import shutil

    try:
        if previous:
            shutil.copyfile(previous, path)
        map_size = _MIN_MAP_BYTES + entries * _ENTRY_MAP_BYTES + (4 * os.path.getsize(path) if previous else 0)
        with (
            lmdb.open(path, subdir=False, lock=False, max_dbs=len(TABLES), map_size=map_size) as environment,
            environment.begin(write=True) as transaction,
        ):
            tables = {  # outside the transaction each table would wait for the disk
                name: environment.open_db(name.encode(), txn=transaction, **flags) for name, flags in TABLES.items()
            }
            yield Store(tables, lambda: transaction)
    except (lmdb.Error, OSError) as error:
        raise StorageError(f"{path} cannot be written ({error})") from error


def _encode(key: str) -> bytes:
    return key.encode("utf-8", "replace")[:_MAX_KEY_BYTES] or b"\0"


def _dump(value: Any) -> bytes:
    if isinstance(value, tuple):
        return _POSTING.pack(*value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
