"""The tables of an index while it is written: begun empty or taken from the generation before, changed in place, and written whole.

What `kb.store` reads, these make. Taking a table over is a copy of bytes, so a change costs what it touches. Nothing is
ever moved: a row that is replaced stays behind as waste until the index is built anew.
"""

from __future__ import annotations

import json
import shutil
import zlib
from array import array
from pathlib import Path
from typing import Any

from kb.store import GOLDEN, MASK, Arrays, Blobs, Strings, Texts

__all__ = ["GrowingBlobs", "GrowingSlots", "GrowingStrings", "Log", "Sections", "column", "link_or_copy"]

Sections = dict[str, "array[int] | bytes"]

_FULL = 0.5
"""The share of a hash table's slots that is used when it is doubled."""

_FULLER = 0.75
"""That share for a table taken over: doubling it would cost more than the change, and it is built anew before long."""


def column(arrays: Arrays | None, name: str, code: str, first: tuple[int, ...] = ()) -> array[int]:
    """Return the section of that name as an array that can grow; where there is no generation before, one that holds `first`."""
    found = array(code, () if arrays else first)
    if arrays:
        found.frombytes(arrays[name].tobytes())
    return found


def link_or_copy(old: Path, new: Path) -> None:
    """Give a file that never changes a second name; where the file system cannot do that, copy it."""
    try:
        new.hardlink_to(old)
    except OSError:
        shutil.copyfile(old, new)


class GrowingSlots:
    """A hash table of 64-bit keys other than zero that `kb.store.HashSlots` reads; a key whose value is 0 counts as absent."""

    def __init__(self, name: str, arrays: Arrays | None = None) -> None:
        self._name = name
        self._keys = column(arrays, f"{name}.keys", "Q", (0,) * 8)
        self._values = column(arrays, f"{name}.values", "I", (0,) * 8)
        self._used = len(self._keys) - self._keys.count(0) if arrays else 0
        self._full = _FULLER if arrays else _FULL

    def get(self, key: int) -> int:
        """Return the value of `key`, or 0."""
        return self._values[self._place(key)]

    def put(self, key: int, value: int) -> None:
        """Set the value of `key`."""
        at = self._place(key)
        if not self._keys[at]:
            self._used += 1
            if self._used > self._full * len(self._keys):
                self._double()
                at = self._place(key)
            self._keys[at] = key
        self._values[at] = value

    def sections(self) -> Sections:
        """Return the table's sections."""
        return {f"{self._name}.keys": self._keys, f"{self._name}.values": self._values}

    def _place(self, key: int) -> int:
        """Return the slot that holds the key, or the free one where it belongs."""
        keys, mask = self._keys, len(self._keys) - 1
        at = ((key * GOLDEN) & MASK) >> (64 - mask.bit_length())
        while (found := keys[at]) and found != key:
            at = (at + 1) & mask
        return at

    def _double(self) -> None:
        keys, values = self._keys, self._values
        self._keys, self._values = array("Q", bytes(16 * len(keys))), array("I", bytes(8 * len(keys)))
        for key, value in zip(keys, values, strict=True):
            if key:
                at = self._place(key)
                self._keys[at], self._values[at] = key, value


class GrowingStrings(Strings):
    """A table that numbers strings from 1 in the order in which they come; `kb.store.StringTable` reads it."""

    def __init__(self, name: str, arrays: Arrays | None = None) -> None:
        super().__init__(
            column(arrays, f"{name}.slots", "Q", (0,) * 8),
            column(arrays, f"{name}.starts", "Q", (0, 0)),
            bytearray(arrays[f"{name}.text"] if arrays else b""),
        )
        self._name = name
        self._full = _FULLER if arrays else _FULL
        self._known: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the string's number, or 0 when it is not in the table."""
        found = self._known.get(text)
        if found is None and (found := super().number(text)):
            self._known[text] = found
        return found or 0

    def add(self, text: str) -> int:
        """Return the string's number, a new one when it was not in the table."""
        if found := self.number(text):
            return found
        raw = text.encode()
        self._text += raw
        self._starts.append(len(self._text))
        number = self._known[text] = len(self)
        if number > self._full * len(self._slots):
            old = self._slots
            self._slots, self._mask = array("Q", bytes(16 * len(old))), 2 * len(old) - 1
            for key in old:
                if key:
                    self._insert(key)
        self._insert(number << 32 | zlib.crc32(raw))
        return number

    def sections(self) -> Sections:
        """Return the table's sections."""
        return {
            f"{self._name}.slots": self._slots,
            f"{self._name}.starts": self._starts,
            f"{self._name}.text": bytes(self._text),
        }

    def _insert(self, key: int) -> None:
        slots, mask = self._slots, self._mask
        at = key & 0xFFFFFFFF & mask
        while slots[at]:
            at = (at + 1) & mask
        slots[at] = key


class Log:
    """The file of an index's JSON values, a line each, to which lines are added: what the generation before has is linked or copied, not read."""

    def __init__(self, folder: Path, old: Path | None = None) -> None:
        path = folder / (Texts.MORE if old else Texts.FIRST)
        self._before = self._size = 0
        if old:
            link_or_copy(old / Texts.FIRST, folder / Texts.FIRST)
            self._before = (old / Texts.FIRST).stat().st_size
            if (old / Texts.MORE).exists():
                shutil.copyfile(old / Texts.MORE, path)
        self._lines = path.open("ab")

    def add(self, value: Any) -> tuple[int, int]:
        """Add a line and return where it starts, and its length in bytes."""
        raw = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode()
        start = self._before + self._lines.tell()
        self._lines.write(raw + b"\n")
        return start, len(raw)

    def close(self) -> int:
        """Close the file, if it is not; return the length of all lines in bytes."""
        if not self._lines.closed:
            self._size = self._before + self._lines.tell()
            self._lines.close()
        return self._size


class GrowingBlobs:
    """A list of JSON values whose texts stand in a `Log`; `kb.store.Blobs` reads it."""

    def __init__(self, name: str, log: Log, arrays: Arrays | None = None, texts: Texts | None = None) -> None:
        self._name, self._log = name, log
        self._before = Blobs(arrays, name, texts) if arrays and texts else None
        self._starts = column(arrays, f"{name}.starts", "Q")
        self._sizes = column(arrays, f"{name}.sizes", "I")

    def __len__(self) -> int:
        return len(self._starts)

    def before(self, number: int) -> Any:
        """Return the value that the generation before has at that number."""
        assert self._before is not None, "a new index has no generation before it"
        return self._before[number]

    def put(self, number: int, value: Any) -> None:
        """Set the value of that number, which is at most the list's length."""
        start, size = self._log.add(value)
        if number == len(self):
            self._starts.append(0)
            self._sizes.append(0)
        self._starts[number], self._sizes[number] = start, size

    def sections(self) -> Sections:
        """Return the list's sections."""
        return {f"{self._name}.starts": self._starts, f"{self._name}.sizes": self._sizes}
