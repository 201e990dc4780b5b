"""Scripts: ranges of Unicode characters, to be put into character classes of regular expressions, and the columns that characters take."""

from __future__ import annotations

from itertools import groupby, islice

from kb.startup.lazy_regex import lazy_pattern

__all__ = ["HAN", "columns", "han_runs", "has_han", "is_chinese", "is_cjk", "is_han"]

HAN = "\u3400-\u9fff"
"""Chinese characters."""

_FOREIGN = lazy_pattern(r"[^\W\x00-\x7f]++")
"""Letters beyond ASCII. A class of all Chinese characters takes a hundred times as long to compile."""


def has_han(text: str, least: int = 1) -> bool:
    """Whether the text has so many Chinese characters."""
    if text.isascii():
        return False
    characters = (character for letters in _FOREIGN.finditer(text) for character in letters[0] if is_han(character))
    return next(islice(characters, least - 1, None), "") != ""


def is_chinese(text: str) -> bool:
    """Whether the text has at least two Chinese characters."""
    return has_han(text, 2)


def han_runs(text: str) -> list[str]:
    """Return the runs of Chinese characters in the text."""
    return ["".join(run) for is_run, run in groupby(text, is_han) if is_run]


def is_han(character: str) -> bool:
    """Whether the character is a Chinese one."""
    return HAN[0] <= character <= HAN[-1]


def is_cjk(character: str) -> bool:
    """Whether the character is a Chinese one, Japanese kana or a Korean syllable: scripts that are written without spaces, or nearly so."""
    return is_han(character) or "\u3040" <= character <= "\u30ff" or "\uac00" <= character <= "\ud7af"


def columns(text: str) -> int:
    """Return how many columns the text takes in a terminal: wide characters two, marks that are put on others none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(2 if east_asian_width(char) in "WF" else category(char) not in ("Mn", "Me") for char in text)
