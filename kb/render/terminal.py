"""Text for a terminal: its size and colours, the reader's language, wrapping with Chinese characters counted as two columns, the pager."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from kb.text.languages import LANGUAGES, Lang
from kb.text.scripts import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

__all__ = [
    "BOLD",
    "CYAN",
    "DIM",
    "GREEN",
    "RED",
    "YELLOW",
    "Style",
    "columns",
    "language",
    "page",
    "paint",
    "size",
    "visible",
    "width",
    "wrap",
]

BOLD, DIM, RED, GREEN, YELLOW, CYAN = 1, 2, 31, 32, 33, 36
"""ANSI codes. Colours come from the sixteen that a terminal's own theme fits to its background, so that they read on light and on dark."""

_NO_START = "，。：；？！）、”’》】"
_NO_END = ("（", "“", "‘", "《", "【")
"""Chinese punctuation that no line begins with, and that none ends with."""


class Style:
    """Colours for a stream, none unless it is a terminal and NO_COLOR is unset or empty."""

    def __init__(self, stream: object = None, *, plain: bool = False) -> None:
        stream = stream or sys.stdout
        terminal = not plain and getattr(stream, "isatty", bool)()
        self.on = bool(terminal) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def __call__(self, text: str, *codes: int) -> str:
        """Return the text between the ANSI codes, or as it is."""
        return f"\033[{';'.join(map(str, codes))}m{text}\033[0m" if self.on and text else text


def language(given: str | None = None) -> Lang | None:
    """Return the language asked for by option, by KB_LANG or by a Chinese locale, else None: the text then decides."""
    chosen = given or os.environ.get("KB_LANG", "")
    for lang in LANGUAGES:
        if chosen == lang:
            return lang
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return "zh" if locale[:2] == "zh" else None


def size(stream: IO[str] | None = None) -> tuple[int, int | None]:
    """Return the columns to write in, between 40 and 100, and the rows of the terminal, None where the stream is no terminal."""
    stream = stream or sys.stdout
    try:
        if stream.isatty():
            size = os.get_terminal_size(stream.fileno())
            if size.columns and size.lines:
                return max(40, min(100, size.columns)), size.lines
    except (OSError, ValueError):
        pass
    return 88, None


def width() -> int:
    """Return the columns to write in on standard output."""
    return size()[0]


def visible(text: str) -> str:
    """Return the text with a space for every control character, line end and direction mark: a pasted log may carry any."""
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def wrap(text: str, limit: int, indent: str = "", hanging: str | None = None) -> Iterator[str]:
    """Yield lines of at most `limit` columns; Chinese breaks between any two characters but never before its closing punctuation.

    What a terminal would obey instead of showing becomes a space.
    """
    hanging = indent if hanging is None else hanging
    line, used = indent, len(indent)
    start = True
    for piece, after_space in _pieces(visible(text)):
        wide = columns(piece)
        if not start and used + after_space + wide > limit:
            yield line
            line, used, start = hanging, len(hanging), True
        space = " " if after_space and not start else ""
        line += space + piece
        used += len(space) + wide
        start = False
    if not start:
        yield line


def paint(lines: Iterable[str], style: Style, *codes: int) -> Iterator[str]:
    """Yield the lines with code spans coloured in place of their backticks, also those that run over the end of a line.

    `codes` are the colours of the text around them.
    """
    inside = False
    for line in lines:
        if not style.on:
            yield line
            continue
        painted = ""
        for count, part in enumerate(line.replace("``", "`").split("`")):
            inside = inside != (count > 0)
            margin = len(part) - len(part.lstrip()) if not count else 0
            colours = (CYAN,) if inside else codes
            painted += part[:margin] + (style(part[margin:], *colours) if colours else part[margin:])
        yield painted


def page(lines: list[str]) -> None:
    """Print the lines, through PAGER (else `less -R`) where they are longer than the terminal; never where there is none."""
    limit, rows = size()
    text = "\n".join(lines) + "\n"
    pager = os.environ.get("PAGER", "less")
    if rows is None or pager in ("", "cat") or sum(1 + columns(line) // (limit + 1) for line in lines) < rows:
        sys.stdout.write(text)
        return
    import shlex
    import shutil

    command = shlex.split(pager)
    if not command or not shutil.which(command[0]):
        sys.stdout.write(text)
        return
    _pipe(command, text)


def _pipe(command: list[str], text: str) -> None:
    """Give the text to the pager and wait until it is left; an interrupt is the pager's business."""
    import subprocess

    sys.stdout.flush()
    reader = subprocess.Popen(command, stdin=subprocess.PIPE, env={"LESS": "R", "LESSCHARSET": "utf-8", **os.environ})
    try:
        with reader.stdin as pipe:  # type: ignore[union-attr]
            pipe.write(text.encode("utf-8", "replace"))
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    while True:
        try:
            reader.wait()
        except KeyboardInterrupt:
            continue
        return


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield what may stand on a line by itself, and whether a space precedes it: words, and wide characters with their punctuation."""
    for word in text.split():
        spaced = True
        for unit in [word] if word.isascii() else _units(word):
            yield unit, spaced
            spaced = False


def _units(word: str) -> list[str]:
    """Return the word in parts between which a line may end: around each wide character, but not before `，` nor after `（`."""
    units = [""]
    for char in word:
        before = units[-1][-1:]
        glued = char in _NO_START or before in _NO_END or not (_wide(char) or (before and _wide(before)))
        if glued:
            units[-1] += char
        else:
            units.append(char)
    return [unit for unit in units if unit]


def _wide(char: str) -> bool:
    return "\u2e80" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\uff00" <= char <= "\uffef"
