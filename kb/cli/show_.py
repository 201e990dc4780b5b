"""kb show: print an entry."""

from __future__ import annotations

import argparse
import json
from typing import Any

from kb.cli.common import BOLD, DIM, Failure, Style, language, make_parser, width
from kb.cli.page import WORDS, columns, entry_lines, wrap
from kb.index import open_index


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    found = make_parser("show", "Print an entry: cause, fix, programs, links.")
    found.add_argument("slug", metavar="SLUG", help="the entry's name; kb list shows them")
    found.add_argument("--lang", choices=("en", "zh"), help="the language (default: KB_LANG, else English)")
    form = found.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the entry as JSON")
    form.add_argument("--fix", action="store_true", help="print only the program that works")
    form.add_argument("--repro", action="store_true", help="print only the program that fails")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Print the entry; there being none is a failure that names the nearest slugs."""
    index = open_index()
    try:
        card = index.card(arguments.slug)
    except KeyError:
        from difflib import get_close_matches

        near = get_close_matches(arguments.slug, index.slugs(), 3, 0.4)
        raise Failure(
            f"there is no entry {arguments.slug!r}"
            + (f"; did you mean {' or '.join(near)}?" if near else "; kb list shows all")
        ) from None
    if arguments.json:
        print(json.dumps(card, ensure_ascii=False, indent=2))
    elif arguments.fix or arguments.repro:
        print(card["cases"][0]["fix" if arguments.fix else "repro"], end="")
    else:
        print("\n".join(_lines(card, language(arguments.lang) or "en", Style())))
    return 0


def _lines(card: dict[str, Any], lang: str, style: Style) -> list[str]:
    limit, words = width(), WORDS[lang]
    lines = [
        style(card["title"][lang], BOLD),
        "=" * min(limit, columns(card["title"][lang])),
        style(f"{card['topic']}/{card['id']}", DIM),
        "",
    ]
    if card["messages"]:
        lines.append(style(words["messages"], BOLD))
        lines += [line for message in card["messages"] for line in wrap(message, limit, "  ", "    ")] + [""]
    lines += entry_lines(card, lang, limit, style)
    for case in card["cases"]:
        for role in ("repro", "fix"):
            lines += [
                style(f"{role} {case['name']}".strip(), BOLD),
                *("  " + line for line in case[role].rstrip().split("\n")),
                "",
            ]
    if card["related"]:
        lines.append(style(words["related"], BOLD))
        lines += [
            line
            for other in card["related"]
            for line in wrap(f"{other['id']}: {other['title'][lang]}", limit, "  ", "    ")
        ] + [""]
    lines += [f"  {source}" for source in card["sources"] if source.startswith("https:")]
    return lines
