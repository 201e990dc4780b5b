"""kb list: the entries by topic, tag or kind."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

from kb.cli.common import BOLD, DIM, Failure, Style, language, make_parser, near
from kb.corpus import Corpus, load
from kb.entry import Entry, Lang
from kb.ledger import Ledgers, load_ledgers


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    found = make_parser("list", "List entries.")
    found.add_argument("--topic", help="only this topic")
    found.add_argument("--tag", help="only entries with this tag")
    found.add_argument("--kind", choices=("error", "warning", "silent"), help="only this kind")
    found.add_argument(
        "--untested", action="store_true", help="only entries with a case that no ledger proves, and what it waits for"
    )
    found.add_argument(
        "--lang",
        choices=("en", "zh"),
        help="the language of the titles (default: KB_LANG, a Chinese locale, else English)",
    )
    found.add_argument("--json", action="store_true", help="print as JSON")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Print the entries; none at all is a failure."""
    corpus = load()
    entries = [entry for entry in corpus if _wanted(entry, arguments)]
    waiting = _waiting(entries, load_ledgers()) if arguments.untested else {}
    if arguments.untested:
        entries = [entry for entry in entries if entry.id in waiting]
    if not entries and not arguments.untested:
        raise _none(corpus, arguments)
    if arguments.json:
        print(
            json.dumps(
                [_data(entry, corpus) | ({"waits": waiting[entry.id]} if waiting else {}) for entry in entries],
                ensure_ascii=False,
            )
        )
        return 0
    lang: Lang = language(arguments.lang) or "en"  # type: ignore[assignment]
    style = Style()
    topic = ""
    for entry in entries:
        if entry.topic != topic:
            print(("\n" if topic else "") + style(entry.topic, BOLD))
            topic = entry.topic
        print(f"  {entry.id}  {style(entry.title[lang], DIM)}")
        for case, reason in waiting.get(entry.id, {}).items():
            print(f"    {case}: {reason}")
    return 0


def _wanted(entry: Entry, arguments: argparse.Namespace) -> bool:
    return (
        arguments.topic in (None, entry.topic)
        and arguments.kind in (None, entry.kind)
        and (arguments.tag is None or arguments.tag in entry.tags)
    )


def _none(corpus: Corpus, arguments: argparse.Namespace) -> Failure:
    """The failure to say that no entry is like that: an unknown topic or tag by what resembles it."""
    topics, tags = sorted({entry.topic for entry in corpus}), sorted({tag for entry in corpus for tag in entry.tags})
    if arguments.topic and arguments.topic not in topics:
        return Failure(f"there is no topic {arguments.topic!r}" + near(arguments.topic, topics, "kb list shows all"))
    if arguments.tag and arguments.tag not in tags:
        return Failure(f"there is no tag {arguments.tag!r}" + near(arguments.tag, tags, "kb list --json shows all"))
    return Failure("no entry is like that; kb list shows all")


def _waiting(entries: Iterable[Entry], ledgers: Ledgers) -> dict[str, dict[str, str]]:
    """For each entry, its unproven cases and what each waits for."""
    found: dict[str, dict[str, str]] = {}
    for entry in entries:
        for case in entry.cases:
            if ledgers.state(case) != "verified":
                machine = case.os or (f"{case.gpus} GPUs" if case.gpus > 1 else case.device)
                reason = f"a machine with {machine}" if machine != "cpu" else "a run of kb verify --record"
                changed = ledgers.state(case) == "changed"
                found.setdefault(entry.id, {})[case.id] = (
                    "changed since it was verified; " if changed else ""
                ) + f"waits for {reason}"
    return found


def _data(entry: Entry, corpus: Corpus) -> dict[str, object]:
    return {
        "id": entry.id,
        "topic": entry.topic,
        "kind": entry.kind,
        "title": {"en": entry.title.en, "zh": entry.title.zh},
        "tags": list(entry.tags),
        "also": [slug for slug, target in corpus.redirects.items() if target == entry.id],
    }
