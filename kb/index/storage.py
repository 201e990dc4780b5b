"""One LMDB file of an index: named tables from strings to JSON values.

A generation of the index is never written after it was published. So readers open it read-only and without a lock file,
which also works on network file systems, and any number of threads and processes read it at once.
"""

from __future__ import annotations

import json
import os
from _thread import _local
from collections.abc import Iterator, Mapping
from weakref import WeakValueDictionary

import lmdb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["StorageError", "Store", "WriteBuffer", "open_store", "write_store"]

_MAX_KEY_BYTES = 500
"""LMDB refuses keys of more than 511 bytes. What begins with this many equal ones is no word that anyone asks for."""

_MIN_MAP_BYTES = 1 << 26

_read_json = json.JSONDecoder().raw_decode
"""`json.loads` without its look for white space, which takes longer than reading a number; a look-up reads a thousand."""

_write_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_open_stores: WeakValueDictionary[str, Store] = WeakValueDictionary()
"""py-lmdb does not allow a process to open the same file twice, nor a forked one to open what its parent has open.

A forked process goes on with its parent's stores: without locks they are no more than a map of a file that never changes.
"""


class StorageError(Exception):
    """The index cannot be read or written. The text says why and what to do."""


def open_store(path: str) -> Store:
    """Return the store in the file, which a process opens once; raises `StorageError` if it is missing or is no LMDB file."""
    key = os.path.realpath(path)
    store = _open_stores.get(key)
    if store is None:
        store = _open_stores[key] = Store(path)
    return store


class Store:
    """Reads the tables of one published LMDB file, with a read transaction for each thread. `open_store` makes it."""

    def __init__(self, path: str) -> None:
        try:
            self._env = lmdb.open(path, subdir=False, readonly=True, lock=False, max_dbs=32, readahead=False)
            with self._env.begin() as transaction:
                names = [bytes(name) for name in transaction.cursor().iternext(values=False)]
            self._tables = {name.decode(): self._env.open_db(name, create=False) for name in names}
        except (lmdb.Error, OSError, UnicodeDecodeError) as error:
            raise StorageError(f"{path} cannot be read ({error})") from error
        self._threads = _local()

    @property
    def _transaction(self) -> lmdb.Transaction:
        transaction: lmdb.Transaction | None = getattr(self._threads, "transaction", None)
        if transaction is None:
            transaction = self._threads.transaction = self._env.begin()
        return transaction

    def get(self, table: str, key: str) -> Any:
        """Return the value of the key, or None."""
        raw = self._transaction.get(_encode(key), db=self._tables[table])
        return None if raw is None else _decode(raw)

    def keys(self, table: str) -> list[str]:
        """Return the keys of a table in order."""
        return [bytes(key).decode() for key in self._transaction.cursor(self._tables[table]).iternext(values=False)]

    def items(self, table: str) -> Iterator[tuple[str, Any]]:
        """Yield the keys of a table in order, with their values."""
        for key, raw in self._transaction.cursor(self._tables[table]):
            yield bytes(key).decode(), _decode(raw)


class WriteBuffer:
    """The tables of a new generation: those of the previous one with the changes made here, which are kept in memory until they are written."""

    def __init__(self, tables: tuple[str, ...], previous: Store | None = None) -> None:
        self._previous = previous
        self.changes: dict[str, dict[str, Any]] = {table: {} for table in tables}

    def get(self, table: str, key: str) -> Any:
        """Return the value of the key, or None. A caller may change it in place if it puts it back."""
        if key in self.changes[table] or self._previous is None:
            return self.changes[table].get(key)
        return self._previous.get(table, key)

    def put(self, table: str, key: str, value: Any) -> None:
        """Set the value of the key; None or anything empty removes it."""
        self.changes[table][key] = value

    def count(self, table: str, key: str, amount: int, member: str = "") -> None:
        """Add to the counter of the key, or to that of a member of the key; one that reaches zero is removed."""
        if member:
            counts = self.get(table, key) or {}
            counts[member] = counts.get(member, 0) + amount
            if not counts[member]:
                del counts[member]
            self.put(table, key, counts)
        else:
            self.put(table, key, (self.get(table, key) or 0) + amount)


def write_store(path: str, changes: Mapping[str, Mapping[str, Any]], previous: str = "") -> None:
    """Write the tables to `path`: a copy of the file `previous`, if given, with the changes applied in one transaction.

    Raises `StorageError` if the disk is full or cannot be written.
    """
    rows = [(table, _encode(key), _dump(values[key])) for table, values in changes.items() for key in sorted(values)]
    size = sum(len(key) + len(value) + 32 for _, key, value in rows)
    try:
        if previous:
            import shutil

            shutil.copyfile(previous, path)
            size += os.path.getsize(path)
        with (
            lmdb.open(path, subdir=False, lock=False, max_dbs=32, map_size=_MIN_MAP_BYTES + 4 * size) as environment,
            environment.begin(write=True) as transaction,
        ):
            # without txn each table would wait for the disk
            tables = {table: environment.open_db(table.encode(), txn=transaction) for table in changes}
            for table, key, value in rows:
                if value:
                    transaction.put(key, value, db=tables[table])
                else:
                    transaction.delete(key, db=tables[table])
    except (lmdb.Error, OSError) as error:
        raise StorageError(f"{path} cannot be written ({error})") from error


def _encode(key: str) -> bytes:
    return key.encode("utf-8", "replace")[:_MAX_KEY_BYTES] or b"\0"


def _decode(raw: Any) -> Any:
    return _read_json(str(raw, "utf-8"))[0]


def _dump(value: Any) -> bytes:
    return _write_json(value).encode("utf-8", "replace") if value else b""
