"""What the commands share: parsers and failures that people can act on; colours and sizes come from kb.terminal."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from kb.terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Style, language, width

if TYPE_CHECKING:
    from kb.index import Index

__all__ = [
    "BOLD",
    "CYAN",
    "DIM",
    "GREEN",
    "RED",
    "YELLOW",
    "Failure",
    "Style",
    "add_sandbox_options",
    "language",
    "make_parser",
    "ready_index",
    "width",
]


class Failure(Exception):  # noqa: N818 - it is said to a person, not caught by a program
    """Something a person can put right: one line that says what happened and what to do. `status` is the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def make_parser(name: str, description: str, epilog: str = "") -> argparse.ArgumentParser:
    """Return the parser of a command; every command also takes --debug, which `kb.cli.main` reads.

    Help is as wide as the terminal. The formatter is told so: left to find out, it imports shutil, 2 ms of every look-up.
    """
    parser = argparse.ArgumentParser(
        prog=f"kb {name}",
        description=description,
        epilog=epilog,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=width()),
    )
    parser.add_argument("--debug", action="store_true", help="show the stack when something goes wrong")
    return parser


def add_sandbox_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say in which sandbox programs run."""
    parser.add_argument(
        "--backend",
        choices=("auto", "docker", "bubblewrap", "process"),
        default="auto",
        help="the sandbox (default: the strongest that works; process is none)",
    )
    parser.add_argument("--runtime", help="the container runtime, e.g. runsc")
    parser.add_argument("--python", help="the interpreter for bubblewrap and process")
    parser.add_argument("--trust-gpu", action="store_true", help="give containers a GPU: only for reviewed entries")


def ready_index() -> Index:
    """Open the index; where it has to be built first, say so on a terminal: seconds of silence look like a command that hangs."""
    from kb.index import open_index
    from kb.store import StoreError

    def first() -> None:
        if sys.stderr.isatty():
            print("Building the search index; this is done once and takes some seconds.", file=sys.stderr)

    try:
        return open_index(first=first)
    except StoreError as error:
        raise Failure(str(error)) from error
