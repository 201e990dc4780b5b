"""kb show: print an entry."""

from __future__ import annotations

import argparse
import json
from typing import Any

from kb.cli.common import Failure, Style, entry_name, language, make_parser, near, ready_index, width
from kb.entry_text import entry_page
from kb.index import Index
from kb.terminal import page


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    found = make_parser("show", "Print an entry: cause, fix, programs, links; on a terminal through PAGER, else less.")
    found.add_argument("slug", metavar="SLUG", help="the entry's name, or one case as SLUG/CASE; kb list shows them")
    found.add_argument(
        "--lang", choices=("en", "zh"), help="the language (default: KB_LANG, a Chinese locale, else English)"
    )
    form = found.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the entry as JSON")
    form.add_argument("--fix", action="store_true", help="print only the program that works")
    form.add_argument("--repro", action="store_true", help="print only the program that fails")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Print the entry, or one case of it; there being none is a failure that names the nearest slugs."""
    index = ready_index()
    slug, _, name = entry_name(arguments.slug, index.slugs()).partition("/")
    card = _card(index, slug)
    cases = [case for case in card["cases"] if not name or case["name"] == name]
    if not cases:
        names = ", ".join(case["id"] for case in card["cases"])
        raise Failure(f"{slug} has no case {name!r}; there is {names}")
    if arguments.json:
        print(json.dumps(card | {"cases": cases}, ensure_ascii=False, indent=2))
    elif arguments.fix or arguments.repro:
        print(cases[0]["fix" if arguments.fix else "repro"], end="")
    else:
        page(list(entry_page(card, language(arguments.lang) or "en", width(), Style(), cases)))
    return 0


def _card(index: Index, slug: str) -> dict[str, Any]:
    try:
        return index.card(slug)
    except KeyError:
        raise Failure(f"there is no entry {slug!r}" + near(slug, index.slugs(), "kb list shows all")) from None
