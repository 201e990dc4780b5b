"""The inverted index of messages: from the rarest words of a template to the template, over all packages.

Every template is found by one anchor: the rarest run of up to three consecutive words in it, as a hash. A look-up hashes every run of up to three tokens
of a message and so finds each template whose words it has, whatever stands in the placeholders. The sorted hashes are written as the gaps between them,
which take a third of the space.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from kb.record.data_folder import data_folder
from kb.record.store import RecordError

__all__ = ["MessageIndex", "anchor_hash", "build_index", "open_message_index", "word_runs"]

_MAGIC = b"kb messages 2\n"
_LENGTH = struct.Struct("<II")
_NUMBER_BITS, _HASH_BITS = 24, 26
"""With 26 bits, one in five hundred runs of words leads to a template by chance, which then does not match."""
MAX_RUN = 3


def anchor_hash(words: Sequence[str]) -> int:
    """Return the hash of a run of words."""
    return zlib.crc32(" ".join(words).encode("utf-8", "replace")) >> (32 - _HASH_BITS)


def word_runs(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the runs that may be an anchor: those of three words, or the whole where it is shorter."""
    size = min(MAX_RUN, len(words))
    for start in range(len(words) - size + 1 if size else 0):
        yield start, start + size


class MessageIndex:
    """The index of messages, read as a whole: two arrays of 32-bit numbers."""

    def __init__(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    raise RecordError(f"{path} is no index of messages; make it again with python -m kb.record index")
                length, count = _LENGTH.unpack(file.read(_LENGTH.size))
                self.packages: list[str] = json.loads(file.read(length))
                gaps, self._messages = array("I"), array("I")
                gaps.frombytes(zlib.decompress(file.read(count)))
                self._hashes = array("I", accumulate(gaps))
                self._messages.frombytes(zlib.decompress(file.read()))
        except (OSError, ValueError, zlib.error, struct.error) as error:
            raise RecordError(
                f"{path} cannot be read: {error}; make it again with python -m kb.record index"
            ) from error

    def messages(self, anchor: int) -> Iterator[tuple[str, int]]:
        """Yield the package and the number of every message with that anchor."""
        at = bisect_left(self._hashes, anchor)
        while at < len(self._hashes) and self._hashes[at] == anchor:
            code = self._messages[at]
            yield self.packages[code >> _NUMBER_BITS], code & ((1 << _NUMBER_BITS) - 1)
            at += 1


@lru_cache(maxsize=1)
def open_message_index() -> MessageIndex | None:
    """Return the index that ships, or None if there is none."""
    path = index_path()
    return MessageIndex(path) if os.path.exists(path) else None


def index_path() -> str:
    """Return the path of the index of messages."""
    return os.path.join(data_folder(), "messages.idx")


def build_index(packages: Sequence[str]) -> int:
    """Make the index from the packages' files; return how many messages it has."""
    from kb.record.store import RecordFile

    anchors: list[list[int]] = []
    codes: list[int] = []
    frequency: dict[int, int] = {}
    for number, package in enumerate(packages):
        record = RecordFile(os.path.join(data_folder(), f"{package}.kbr"))
        lines = (line for block in record.all_blocks("messages") for line in block.split("\n"))
        for row, line in enumerate(lines):
            hashes = [anchor_hash(run) for run in _literal_runs(line.partition("\t")[0])]
            if hashes:
                anchors.append(hashes)
                codes.append(number << _NUMBER_BITS | row)
            for value in set(hashes):
                frequency[value] = frequency.get(value, 0) + 1
    pairs = sorted(
        (min(hashes, key=lambda value: (frequency[value], value)), code)
        for hashes, code in zip(anchors, codes, strict=True)
    )
    gaps = [pair[0] - previous[0] for previous, pair in pairwise([(0, 0), *pairs])]
    hashed = zlib.compress(array("I", gaps).tobytes(), 9)
    numbers = zlib.compress(array("I", [pair[1] for pair in pairs]).tobytes(), 9)
    head = json.dumps(list(packages)).encode()
    with open(index_path(), "wb") as file:
        file.write(_MAGIC + _LENGTH.pack(len(head), len(hashed)) + head + hashed + numbers)
    return len(pairs)


def _literal_runs(template: str) -> Iterator[Sequence[str]]:
    """Yield the runs of words of a template that may be its anchor: the longest that there are, of up to three words."""
    from kb.record.rows import with_slots
    from kb.templates.template import TemplateError, compile_template

    try:
        pieces = compile_template("x: " + with_slots(template)).pieces[1:]
    except TemplateError:
        return
    stretches: list[list[str]] = [[]]
    for piece in pieces:
        if isinstance(piece, str):
            stretches[-1].append(piece)
        else:
            stretches.append([])
    longest = min(MAX_RUN, max(map(len, stretches)))
    for stretch in stretches:
        if len(stretch) >= longest:
            for start, end in word_runs(stretch):
                yield stretch[start:end]
