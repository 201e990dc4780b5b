"""Ranges of Unicode characters by script, to be put into character classes of regular expressions."""

from __future__ import annotations

from kb.text.lazy_regex import lazy_pattern

__all__ = ["CJK", "HAN", "is_chinese", "is_han"]

HAN = "\u3400-\u9fff"
"""Chinese characters."""

CJK = rf"\u3040-\u30ff{HAN}\uac00-\ud7af"
"""Chinese characters, Japanese kana and Korean syllables: scripts that are written without spaces, or nearly so."""


_TWO_HAN = lazy_pattern(f"[{HAN}][^{HAN}]*+[{HAN}]")


def is_chinese(text: str) -> bool:
    """Whether the text has at least two Chinese characters."""
    return not text.isascii() and bool(_TWO_HAN.search(text))


def is_han(character: str) -> bool:
    """Whether the character is a Chinese one."""
    return HAN[0] <= character <= HAN[-1]
