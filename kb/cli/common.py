"""What the commands share: parsers and failures that people can act on; colours and sizes come from kb.render.terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from kb.render.terminal import BOLD, DIM, GREEN, RED, YELLOW, Style, language, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.corpus.entry import Runnable
    from kb.corpus.loader import Corpus
    from kb.index.reader import Index

__all__ = [
    "BOLD",
    "DIM",
    "GREEN",
    "RED",
    "YELLOW",
    "Failure",
    "Style",
    "add_backend_option",
    "add_sandbox_options",
    "add_torch_option",
    "entry_name",
    "interpreter_options",
    "language",
    "make_parser",
    "near",
    "ready_index",
    "runnables_named",
    "width",
]


class Failure(Exception):  # noqa: N818 - it is shown to a person, not caught by a program
    """What a person can put right; the text is one line that says what happened and what to do. `status` is the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def make_parser(name: str, description: str, epilog: str = "") -> argparse.ArgumentParser:
    """Return the parser of a command; every command also takes --debug, which `kb.cli.main` reads.

    Help is as wide as the terminal. The width is passed to the formatter, because finding it out imports shutil, 2 ms of every look-up.
    """
    parser = argparse.ArgumentParser(
        prog=f"kb {name}",
        description=description,
        epilog=epilog,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=width()),
    )
    parser.add_argument("--debug", action="store_true", help="show the stack when something goes wrong")
    return parser


def add_backend_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the sandbox that programs run in."""
    parser.add_argument(
        "--backend",
        choices=("auto", "docker", "bubblewrap", "process"),
        default="auto",
        help="the sandbox (default: the strongest that works; process is none)",
    )


def add_sandbox_options(parser: argparse.ArgumentParser) -> None:
    """Add that option and those that say how the sandbox is set up."""
    add_backend_option(parser)
    parser.add_argument("--runtime", help="the container runtime, e.g. runsc")
    parser.add_argument("--python", help="the interpreter for bubblewrap and process")
    parser.add_argument("--trust-gpu", action="store_true", help="give containers a GPU: only for reviewed entries")


def add_torch_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for another release of torch, which `interpreter_options` reads."""
    parser.add_argument(
        "--torch",
        metavar="VERSION",
        help="use a virtual environment with this version of torch, made when it is not there",
    )


def interpreter_options(arguments: argparse.Namespace) -> tuple[str, str | None]:
    """Return the sandbox and its interpreter as the options name them; with --torch, make the environment where it is not there."""
    backend, python = arguments.backend, arguments.python
    if not arguments.torch:
        return backend, python
    if python or arguments.image or backend == "docker":
        raise Failure(
            "--torch brings its own interpreter for bubblewrap; leave --python, --image and --backend docker out", 2
        )
    from kb.verify.torch_versions import EnvironmentFailed, interpreter

    try:
        python = str(interpreter(arguments.torch, lambda line: print(line, file=sys.stderr, flush=True)))
    except EnvironmentFailed as error:
        raise Failure(str(error)) from None
    return "bubblewrap" if backend == "auto" else backend, python


def ready_index(*, wait: bool = False) -> Index:
    """Open the index; see `open_index` for `wait`.

    Where it has to be built first, print so on a terminal, because seconds of silence look like a command that hangs.
    """
    from kb.index.manager import open_index
    from kb.index.storage import StorageError

    def on_first_build() -> None:
        if sys.stderr.isatty():
            print("Building the search index; this is done once and takes some seconds.", file=sys.stderr)

    try:
        return open_index(on_first_build=on_first_build, wait=wait)
    except StorageError as error:
        raise Failure(str(error)) from error


def entry_name(given: str, slugs: Iterable[str]) -> str:
    """Return SLUG or SLUG/NAME for an entry's name as it is given: also as TOPIC/SLUG, or as the path of the entry's file."""
    known = set(slugs)
    parts = given.removesuffix(".md").split("/")
    start = next((at for at, part in enumerate(parts) if part in known), None)
    return given if start is None else "/".join(parts[start:])


def near(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the end of a sentence about an unknown word: the known words that it resembles, or else `otherwise`."""
    from difflib import get_close_matches

    similar = get_close_matches(word.lower(), list(known), 3, 0.4)
    return f"; did you mean {' or '.join(similar)}?" if similar else f"; {otherwise}"


def runnables_named(corpus: Corpus, given: Sequence[str]) -> list[Runnable]:
    """Return the cases and checks that SLUG or SLUG/NAME name, as `entry_name` reads them; all where none is given."""
    from kb.verify.verifier import select

    known = [*corpus.entries, *corpus.redirects]
    try:
        return select(corpus, [entry_name(name, known) for name in given])
    except KeyError as error:
        raise _no_entry(error.args[0], corpus) from None


def _no_entry(given: str, corpus: Corpus) -> Failure:
    """Return the failure for an entry, case or check that does not exist, or whose file has faults and was left out."""
    slug, _, name = given.partition("/")
    if (entry := corpus.get(slug)) is not None:
        names = ", ".join(known.id for known in entry.runnables)
        return Failure(f"{slug} has no case or check {name!r}; there is {names}", 2)
    for fault in corpus.faults:
        if fault.path.endswith(f"/{slug}.md"):
            return Failure(f"{fault.path} has faults and is left out; kb check {fault.path} lists them", 2)
    return Failure(f"there is no entry {slug!r}" + near(slug, corpus.entries, "kb list shows all"), 2)
