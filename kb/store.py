"""One file of named arrays and strings that is memory-mapped: opening it costs the same whatever it holds, and nothing in it is code.

A file is a magic number, a directory in JSON, and sections aligned to eight bytes. The byte order is the machine's, which the magic number tells.
"""

from __future__ import annotations

import json
import mmap
import struct
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array

__all__ = ["Arrays", "StoreError", "StringTable", "hash_slots", "string_sections", "write_arrays"]

_MAGIC = b"kbstore1" if sys.byteorder == "little" else b"kbstoreB"
_HEAD = struct.Struct("=8sQ")
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


class StoreError(Exception):
    """The file is not one of ours, or is cut short; it has to be built again."""


def write_arrays(path: str, sections: Mapping[str, array[int] | bytes]) -> None:
    """Write the sections to `path`: an array keeps its item type, bytes are read back as bytes."""
    directory: dict[str, tuple[str, int, int]] = {}
    offset = 0
    for name, data in sections.items():
        code, length = ("B", len(data)) if isinstance(data, bytes) else (data.typecode, len(data) * data.itemsize)
        directory[name] = code, offset, length
        offset += -(-length // 8) * 8
    head = json.dumps(directory).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(_HEAD.pack(_MAGIC, len(head)) + head)
        for data in sections.values():
            raw = data if isinstance(data, bytes) else data.tobytes()
            file.write(raw + b"\0" * (-len(raw) % 8))


class Arrays:
    """The sections of a file, as memory views that read straight from the mapped file."""

    def __init__(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise StoreError(f"{path} is empty") from error
        if len(self._map) < _HEAD.size or self._map[:8] != _MAGIC:
            raise StoreError(f"{path} is no index of this version")
        size = _HEAD.unpack_from(self._map)[1]
        self._base = _HEAD.size + size
        self._directory: dict[str, tuple[str, int, int]] = json.loads(self._map[_HEAD.size : self._base])
        self._view = memoryview(self._map)

    def __getitem__(self, name: str) -> memoryview:
        code, offset, length = self._directory[name]
        start = self._base + offset
        if start + length > len(self._view):
            raise StoreError("the index is cut short")
        return self._view[start : start + length].cast(cast(Literal["B", "I", "Q"], code))

    def __contains__(self, name: str) -> bool:
        return name in self._directory


def blob_sections(name: str, rows: Iterable[Any]) -> dict[str, array[int] | bytes]:
    """Return the sections of a list of JSON values, each to be read alone."""
    from array import array

    starts, text = array("Q", [0]), bytearray()
    for row in rows:
        text += json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
        starts.append(len(text))
    return {f"{name}.starts": starts, f"{name}.text": bytes(text)}


class Blobs:
    """A list of JSON values that `blob_sections` made."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._starts, self._text = arrays[f"{name}.starts"], arrays[f"{name}.text"]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> Any:
        """Return the value of that number; IndexError when there is none."""
        return json.loads(str(self._text[self._starts[number] : self._starts[number + 1]], "utf-8"))


def hash_slots(keys: Sequence[int], values: Sequence[int]) -> tuple[array[int], array[int]]:
    """Return an open-addressing hash table over 64-bit keys other than zero: slots of keys and slots of values, a power of two of each."""
    from array import array

    bits = max(3, (2 * len(keys)).bit_length())
    shift, mask = 64 - bits, (1 << bits) - 1
    slots, found = array("Q", bytes(8 << bits)), array("I", bytes(4 << bits))
    for key, value in zip(keys, values, strict=True):
        at = ((key * _GOLDEN) & _MASK) >> shift
        while slots[at]:
            at = (at + 1) & mask
        slots[at] = key
        found[at] = value
    return slots, found


class HashSlots:
    """Look up a key in a table that `hash_slots` made."""

    def __init__(self, slots: memoryview, values: memoryview) -> None:
        self.slots, self.values = slots, values
        self.mask = len(slots) - 1
        self.shift = 64 - self.mask.bit_length()

    def get(self, key: int) -> int:
        """Return the value of `key`, or 0."""
        slots = self.slots
        at = ((key * _GOLDEN) & _MASK) >> self.shift
        while found := slots[at]:
            if found == key:
                value: int = self.values[at]
                return value
            at = (at + 1) & self.mask
        return 0


def string_sections(name: str, strings: Iterable[str]) -> dict[str, array[int] | bytes]:
    """Return the sections of a table that numbers the strings from 1 in their order."""
    from array import array

    encoded = [text.encode() for text in strings]
    starts = array("Q", [0, 0])
    for text in encoded:
        starts.append(starts[-1] + len(text))
    keys = [(number << 32) | zlib.crc32(text) for number, text in enumerate(encoded, 1)]
    bits = max(3, (2 * len(keys)).bit_length())
    slots = array("Q", bytes(8 << bits))
    mask = (1 << bits) - 1
    for key in keys:
        at = key & 0xFFFFFFFF & mask
        while slots[at]:
            at = (at + 1) & mask
        slots[at] = key
    return {f"{name}.slots": slots, f"{name}.starts": starts, f"{name}.text": b"".join(encoded)}


class StringTable:
    """Numbers for strings, from 1, and back; made by `string_sections`."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._slots, self._starts, self._text = (
            arrays[f"{name}.slots"],
            arrays[f"{name}.starts"],
            arrays[f"{name}.text"],
        )
        self._mask = len(self._slots) - 1

    def __len__(self) -> int:
        return len(self._starts) - 2

    def number(self, text: str) -> int:
        """Return the string's number, or 0 when it is not in the table."""
        raw = text.encode("utf-8", "replace")
        code = zlib.crc32(raw)
        slots, mask = self._slots, self._mask
        at = code & mask
        while key := slots[at]:
            if key & 0xFFFFFFFF == code:
                number: int = key >> 32
                if self._text[self._starts[number] : self._starts[number + 1]] == raw:
                    return number
            at = (at + 1) & mask
        return 0

    def text(self, number: int) -> str:
        """Return the string of that number; IndexError when there is none."""
        if not 0 < number < len(self._starts) - 1:
            raise IndexError(number)
        return bytes(self._text[self._starts[number] : self._starts[number + 1]]).decode()
