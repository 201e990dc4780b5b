"""The file of one package: sections of sorted lines in compressed blocks, found by an index in the file's head.

A file is a magic line, the length of the head, the head (compressed JSON), and for each section a dictionary and the blocks. Blocks are small, so that a
look-up reads few bytes; the dictionary, a sample of the section, gives zlib what the other blocks have in common with this one. A look-up reads the head,
the dictionary and one block of a section. Equal histories give equal bytes.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["RecordError", "RecordFile", "write_record"]

_MAGIC = b"kb record 2\n"
_BLOCK_SIZE = 48_000
_LENGTH_BYTES = 4
_WINDOW, _SAMPLES, _MIN_BLOCKS = 32_000, 20, 4
"""zlib looks back so far; a dictionary is made of so many samples, in a section of at least so many blocks."""


class RecordError(Exception):
    """A file of the record cannot be read; the text says which and what to do."""


def write_record(path: str, head: Mapping[str, Any], sections: Mapping[str, Iterable[tuple[str, str]]]) -> None:
    """Write a file of sections. Each section is made of groups of lines with their keys, sorted by key.

    A group stands whole in one block, so that a key leads to one block.
    """
    index: dict[str, list[tuple[str, int, int]]] = {}
    blocks: list[bytes] = []
    offset = 0
    for section, groups in sections.items():
        texts = [(key, text.encode()) for key, text in _gathered(groups)]
        dictionary = _dictionary([text for _, text in texts])
        index[section] = []
        for key, packed in [
            ("", zlib.compress(dictionary, 9)),
            *((key, _pack(text, dictionary)) for key, text in texts),
        ]:
            index[section].append((key, offset, len(packed)))
            blocks.append(packed)
            offset += len(packed)
    encoded = zlib.compress(
        json.dumps({**head, "sections": index}, ensure_ascii=False, separators=(",", ":")).encode(), 9
    )
    with open(path, "wb") as file:
        file.write(_MAGIC + len(encoded).to_bytes(_LENGTH_BYTES, "little") + encoded)
        file.writelines(blocks)


def _dictionary(texts: list[bytes]) -> bytes:
    """Return a sample of a section: what begins its blocks, of as many blocks as fit into the window of zlib."""
    if len(texts) < _MIN_BLOCKS:
        return b""
    chosen = texts[:: max(1, len(texts) // _SAMPLES)]
    return b"".join(text[: _WINDOW // len(chosen)] for text in chosen)


def _pack(text: bytes, dictionary: bytes) -> bytes:
    packer = zlib.compressobj(9, zdict=dictionary) if dictionary else zlib.compressobj(9)
    return packer.compress(text) + packer.flush()


def _unpack(packed: bytes, dictionary: bytes) -> bytes:
    return (zlib.decompressobj(zdict=dictionary) if dictionary else zlib.decompressobj()).decompress(packed)


def _gathered(groups: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Join groups to blocks of some size, each with the key of its first group."""
    first, size = "", 0
    texts: list[str] = []
    for key, text in groups:
        if texts and size + len(text) > _BLOCK_SIZE:
            yield first, "\n".join(texts)
            texts, size = [], 0
        if not texts:
            first = key
        texts.append(text)
        size += len(text)
    if texts:
        yield first, "\n".join(texts)


class RecordFile:
    """An open file of the record. `head` is what `write_record` was given."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            with open(path, "rb") as file:
                magic = file.read(len(_MAGIC))
                if magic != _MAGIC:
                    raise RecordError(
                        f"{path} is no record of this version; build it again with python -m kb.record build"
                    )
                length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
                self.head: dict[str, Any] = json.loads(zlib.decompress(file.read(length)))
        except (OSError, ValueError, zlib.error) as error:
            raise RecordError(
                f"{path} cannot be read: {error}; build it again with python -m kb.record build"
            ) from error
        self._sections: dict[str, list[tuple[str, int, int]]] = self.head.pop("sections")
        self._keys = {name: [entry[0] for entry in entries[1:]] for name, entries in self._sections.items()}
        self._start = len(_MAGIC) + _LENGTH_BYTES + length
        self._block = lru_cache(maxsize=64)(self._read_block)
        self._lines = lru_cache(maxsize=64)(self._split_block)
        self._dictionary = lru_cache(maxsize=8)(self._read_dictionary)

    def block(self, section: str, key: str) -> str:
        """Return the lines of the block that holds the group `key`, if the section has such a group; else of its neighbour."""
        keys = self._keys.get(section, [])
        number = bisect_right(keys, key) - 1
        return self._block(section, number) if number >= 0 else ""

    def lines(self, section: str, key: str) -> tuple[str, list[str]]:
        """Return the key of the first group of that block, and its lines."""
        keys = self._keys.get(section, [])
        number = bisect_right(keys, key) - 1
        return (keys[number], self._lines(section, number)) if number >= 0 else ("", [])

    def _split_block(self, section: str, number: int) -> list[str]:
        return self._block(section, number).split("\n")

    def all_blocks(self, section: str) -> Iterator[str]:
        """Yield every block of a section in order."""
        for number in range(len(self._keys.get(section, ()))):
            yield self._read_block(section, number)

    def _read_dictionary(self, section: str) -> bytes:
        return zlib.decompress(self._read(section, 0))

    def _read_block(self, section: str, number: int) -> str:
        return _unpack(self._read(section, number + 1), self._dictionary(section)).decode()

    def _read(self, section: str, number: int) -> bytes:
        _, offset, size = self._sections[section][number]
        with open(self._path, "rb") as file:
            file.seek(self._start + offset)
            return file.read(size)
