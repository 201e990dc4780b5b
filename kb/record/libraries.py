"""Texts in compiled libraries: the pieces of messages that stand between NUL bytes in their read-only sections."""

from __future__ import annotations

import re
from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

__all__ = ["message_fragments"]

_STRING = re.compile(rb"(?<=\x00)[\x20-\x7e\n\t]{12,500}(?=\x00)")
_WORD = re.compile(r"(?<![\w:])[A-Za-z][a-z']*(?:_[a-z]+)*(?![\w:])")
_CODE = re.compile(
    r"^\w+::\w+[.(]|->|\bdef \w+\(|\breturn \w|Tensor self|[{};]\s*\n|^%|\bconst\b|::operator|\$_\d|#include|^\s*\w+\.\w+ = "
)
_CHUNK, _PAGE, _OVERLAP = 1 << 20, 4096, 1024
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\n\t"
_MAX_BINARY = 0.25
_MIN_WORDS = 3


def message_fragments(stream: IO[bytes]) -> Iterator[str]:
    """Yield the strings of a library that read like text: three words or more, and no code, schema or symbol."""
    for region in _text_regions(stream):
        for string in _STRING.finditer(region):
            text = " ".join(string.group().decode("ascii").split()).partition(" INTERNAL ASSERT FAILED")[0]
            if _is_prose(text):
                yield text


def _text_regions(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the runs of pages that are mostly printable: sections of strings are, those of machine code and tables are not."""
    region = b"\x00"
    while chunk := stream.read(_CHUNK):
        for start in range(0, len(chunk), _PAGE):
            page = chunk[start : start + _PAGE]
            if len(page.translate(None, _PRINTABLE)) < len(page) * _MAX_BINARY and len(region) < _CHUNK:
                region += page
            elif len(region) > 1:
                yield region + page
                region = page[-_OVERLAP:] if len(region) >= _CHUNK else b"\x00"
    yield region


def _is_prose(text: str) -> bool:
    if "omnipotent char" in text or text.count(" ") < _MIN_WORDS - 1 or _CODE.search(text):
        return False
    words = _WORD.findall(text)
    return len(words) >= _MIN_WORDS and sum(map(len, words)) * 2 > len(text)
