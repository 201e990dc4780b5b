"""kb index: build the search index."""

from __future__ import annotations

import argparse
import sys
import time

from kb.cli.common import make_parser, ready_index
from kb.corpus.diagnostic import Diagnostic
from kb.index.manager import build_index


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = make_parser(
        "index",
        "Build the search index in the user's cache folder. Every look-up does it by itself when entries have changed.",
    )
    parser.add_argument("--force", action="store_true", help="build it anew even when nothing has changed")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Build what is missing; name entries that had to be left out."""
    started = time.monotonic()
    index = build_index() if arguments.force else ready_index(wait=True)
    faults = _faults() if index.meta.has_faults else []
    for fault in faults:
        print(f"left out: {fault}", file=sys.stderr)
    print(
        f"{len(index.slugs())} entries indexed in {time.monotonic() - started:.2f} s, in {index.folder}",
        file=sys.stderr,
    )
    return 1 if faults else 0


def _faults() -> list[Diagnostic]:
    from kb.corpus.ledger import load_ledgers
    from kb.corpus.loader import load

    return [*load().faults, *load_ledgers().faults]
