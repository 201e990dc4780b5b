"""One file of named arrays and strings that is memory-mapped: opening it costs the same whatever it holds, and nothing in it is code.

A file is a magic number, a directory in JSON, and sections aligned to eight bytes. The byte order is the machine's, which the magic number tells.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import zlib
from collections.abc import Mapping
from typing import Any, Literal, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array

__all__ = ["Arrays", "Blobs", "HashSlots", "StoreError", "StringTable", "Strings", "Texts", "write_arrays"]

_MAGIC = b"kbstore2" if sys.byteorder == "little" else b"kbstoreC"
_HEAD = struct.Struct("=8sQ")
GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


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


class Texts:
    """The JSON values of an index in its folder, a line each: one file of most of them, and one of those that came since."""

    FIRST, MORE = "texts.jsonl", "texts-more.jsonl"

    def __init__(self, folder: str, size: int) -> None:
        """Map the files, which hold `size` bytes in all; StoreError when they are shorter."""
        self._first = _mapped(os.path.join(folder, self.FIRST))
        more = os.path.join(folder, self.MORE)
        self._more = _mapped(more) if size > len(self._first) else b""
        if len(self._first) + len(self._more) < size:
            raise StoreError("the index is cut short")

    def read(self, start: int, size: int) -> str:
        """Return the text of `size` bytes that starts at the byte `start`."""
        part = self._first
        if start >= len(part):
            start, part = start - len(part), self._more
        return str(part[start : start + size], "utf-8")


def _mapped(path: str) -> mmap.mmap | bytes:
    try:
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:  # an empty file cannot be mapped
        return b""
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing") from error


class Blobs:
    """A list of JSON values, each to be read alone; made by `kb.growing.GrowingBlobs`."""

    def __init__(self, arrays: Arrays, name: str, texts: Texts) -> None:
        self._starts, self._sizes, self._texts = arrays[f"{name}.starts"], arrays[f"{name}.sizes"], texts

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> Any:
        """Return the value of that number; IndexError when there is none."""
        return json.loads(self._texts.read(self._starts[number], self._sizes[number]))


class HashSlots:
    """Look up a key in a table that `kb.growing.GrowingSlots` made."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self.slots, self.values = arrays[f"{name}.keys"], arrays[f"{name}.values"]
        self.mask = len(self.slots) - 1
        self.shift = 64 - self.mask.bit_length()

    def get(self, key: int) -> int:
        """Return the value of `key`, or 0."""
        slots = self.slots
        at = ((key * GOLDEN) & MASK) >> self.shift
        while found := slots[at]:
            if found == key:
                value: int = self.values[at]
                return value
            at = (at + 1) & self.mask
        return 0


class Strings:
    """Numbers for strings, from 1, and back, over a hash table of number and checksum, the strings' bounds, and their text."""

    def __init__(self, slots: Any, starts: Any, text: Any) -> None:
        self._slots, self._starts, self._text = slots, starts, text
        self._mask = len(slots) - 1

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


class StringTable(Strings):
    """The strings of a table that `kb.growing.GrowingStrings` made."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        super().__init__(arrays[f"{name}.slots"], arrays[f"{name}.starts"], arrays[f"{name}.text"])
