"""What the commands share: parsers, failures that people can act on, and text for a terminal."""

from __future__ import annotations

import argparse
import os
import sys

__all__ = ["Failure", "Style", "language", "make_parser", "width"]


class Failure(Exception):  # noqa: N818 - it is said to a person, not caught by a program
    """Something a person can put right: one line that says what happened and what to do. `status` is the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def make_parser(name: str, description: str, epilog: str = "") -> argparse.ArgumentParser:
    """Return the parser of a command; every command also takes --debug, which `kb.cli.main` reads."""
    parser = argparse.ArgumentParser(
        prog=f"kb {name}", description=description, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--debug", action="store_true", help="show the stack when something goes wrong")
    return parser


def language(given: str | None) -> str | None:
    """Return the language asked for by option or KB_LANG, else None: the text then decides."""
    chosen = given or os.environ.get("KB_LANG", "")
    return chosen if chosen in ("en", "zh") else None


def width() -> int:
    """Return the columns to write in: the terminal's, between 40 and 100."""
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 88
    except OSError:
        columns = 88
    return max(40, min(100, columns))


class Style:
    """Colours for a stream, none unless it is a terminal and NO_COLOR is unset or empty."""

    def __init__(self, stream: object = None) -> None:
        stream = stream or sys.stdout
        on = getattr(stream, "isatty", bool)() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.on = on

    def __call__(self, text: str, *codes: int) -> str:
        """Return the text between the ANSI codes, or as it is."""
        return f"\033[{';'.join(map(str, codes))}m{text}\033[0m" if self.on and text else text


BOLD, DIM, RED, GREEN, YELLOW, CYAN = 1, 2, 31, 32, 33, 36
