"""kb list: the entries by topic, tag or kind."""

from __future__ import annotations

import argparse
import json

from kb.cli.common import BOLD, DIM, Failure, Style, language, make_parser, near, ready_index
from kb.corpus.kinds import KINDS
from kb.index.reader import Index
from kb.text.languages import LANGUAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import CaseDocument, CheckDocument, EntryHead


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = make_parser("list", "List entries.")
    parser.add_argument("--topic", help="only this topic")
    parser.add_argument("--tag", help="only entries with this tag")
    parser.add_argument("--kind", choices=KINDS, help="only this kind")
    parser.add_argument(
        "--untested",
        action="store_true",
        help="only entries with a case or a check that no ledger proves, and what it waits for",
    )
    parser.add_argument(
        "--lang",
        choices=LANGUAGES,
        help="the language of the titles (default: KB_LANG, a Chinese locale, else English)",
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print the entries; none at all is a failure."""
    index = ready_index()
    summaries = sorted(index.summaries(), key=lambda summary: (summary["topic"], summary["id"]))
    selected = [summary for summary in summaries if _is_wanted(summary, arguments)]
    waiting = {}
    if arguments.untested:
        waiting = {summary["id"]: reasons for summary in selected if (reasons := _waiting(index, summary["id"]))}
        selected = [summary for summary in selected if summary["id"] in waiting]
    elif not selected:
        raise _nothing_selected(summaries, arguments)
    if arguments.json:
        print(json.dumps([_data(summary, waiting) for summary in selected], ensure_ascii=False))
        return 0
    lang = language(arguments.lang) or "en"
    style = Style()
    topic = ""
    for summary in selected:
        if summary["topic"] != topic:
            print(("\n" if topic else "") + style(summary["topic"], BOLD))
            topic = summary["topic"]
        print(f"  {summary['id']}  {style(summary['title'][lang], DIM)}")
        for name, reason in waiting.get(summary["id"], {}).items():
            print(f"    {name}: {reason}")
    return 0


def _is_wanted(summary: EntryHead, arguments: argparse.Namespace) -> bool:
    return (
        arguments.topic in (None, summary["topic"])
        and arguments.kind in (None, summary["kind"])
        and (arguments.tag is None or arguments.tag in summary["tags"])
    )


def _nothing_selected(summaries: list[EntryHead], arguments: argparse.Namespace) -> Failure:
    """Return the failure to report; it names what resembles an unknown topic or tag."""
    topics = sorted({summary["topic"] for summary in summaries})
    tags = sorted({tag for summary in summaries for tag in summary["tags"]})
    if arguments.topic and arguments.topic not in topics:
        return Failure(f"there is no topic {arguments.topic!r}" + near(arguments.topic, topics, "kb list shows all"))
    if arguments.tag and arguments.tag not in tags:
        return Failure(f"there is no tag {arguments.tag!r}" + near(arguments.tag, tags, "kb list --json shows all"))
    return Failure("no entry is like that; kb list shows all")


def _waiting(index: Index, slug: str) -> dict[str, str]:
    """Return the cases and checks of an entry that no ledger proves, and what each waits for."""
    document = index.document(slug)
    runnables: list[CaseDocument | CheckDocument] = [*document["cases"], *document["checks"]]
    return {runnable["id"]: _reason(runnable) for runnable in runnables if runnable["state"] != "verified"}


def _reason(runnable: CaseDocument | CheckDocument) -> str:
    machine = runnable["os"] or (f"{runnable['gpus']} GPUs" if runnable["gpus"] > 1 else runnable["device"])
    reason = f"a machine with {machine}" if machine != "cpu" else "a run of kb verify --record"
    changed = "changed since it was verified; " if runnable["state"] == "changed" else ""
    return f"{changed}waits for {reason}"


def _data(summary: EntryHead, waiting: dict[str, dict[str, str]]) -> dict[str, object]:
    data: dict[str, object] = {key: summary[key] for key in ("id", "topic", "kind", "title", "tags", "also")}
    return data | ({"waits": waiting[summary["id"]]} if waiting else {})
