"""kb show: print an entry."""

from __future__ import annotations

import argparse
import json

from kb.cli.common import Failure, Style, entry_name, language, make_parser, near, ready_index, width
from kb.index.reader import Index
from kb.render.entry_markdown import fix_markdown
from kb.render.entry_text import entry_page
from kb.render.terminal import page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import EntryDocument


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = make_parser("show", "Print an entry: cause, fix, programs, links; on a terminal through PAGER, else less.")
    parser.add_argument("slug", metavar="SLUG", help="the entry's name, or one case as SLUG/CASE; kb list shows them")
    parser.add_argument(
        "--lang", choices=("en", "zh"), help="the language (default: KB_LANG, a Chinese locale, else English)"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the entry as JSON")
    form.add_argument("--fix", action="store_true", help="print only the program that works")
    form.add_argument("--repro", action="store_true", help="print only the program that fails")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print the entry, or one case of it; there being none is a failure that names the nearest slugs."""
    index = ready_index()
    slug, _, name = entry_name(arguments.slug, index.slugs()).partition("/")
    document = _document(index, slug)
    cases = [case for case in document["cases"] if not name or case["name"] == name]
    if not cases and (name or arguments.fix or arguments.repro):
        names = ", ".join(case["id"] for case in document["cases"])
        raise Failure(f"{slug} has no case {name!r}; there is {names}" if names else f"{slug} has no case")
    if arguments.json:
        print(json.dumps(_to_json(document) | {"cases": cases}, ensure_ascii=False, indent=2))
    elif arguments.fix or arguments.repro:
        print(cases[0]["fix" if arguments.fix else "repro"], end="")
    else:
        page(list(entry_page(document, language(arguments.lang) or "en", width(), Style(), cases)))
    return 0


def _to_json(document: EntryDocument) -> dict[str, object]:
    """Return the entry with the keys of the former format: `fix` is the answer and the items, `explain` the line of the first message that has one."""
    explain = next(
        (document["explanations"].get(text) for text in document["messages"] if text in document["explanations"]), None
    )
    return {**document, "fix": fix_markdown(document), "explain": explain}


def _document(index: Index, slug: str) -> EntryDocument:
    try:
        return index.document(slug)
    except KeyError:
        raise Failure(f"there is no entry {slug!r}" + near(slug, index.slugs(), "kb list shows all")) from None
