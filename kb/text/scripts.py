"""Scripts: ranges of Unicode characters, to be put into character classes of regular expressions, and the columns that characters take."""

from __future__ import annotations

from kb.startup.lazy_regex import lazy_pattern

__all__ = ["CJK", "HAN", "columns", "is_chinese", "is_han"]

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


def columns(text: str) -> int:
    """Return how many columns the text takes in a terminal: wide characters two, marks that are put on others none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(2 if east_asian_width(char) in "WF" else category(char) not in ("Mn", "Me") for char in text)
