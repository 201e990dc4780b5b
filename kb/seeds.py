"""The table of what the founding documents teach and which entries answer it: `python -m kb.seeds > entries/SEEDS.md`."""

from __future__ import annotations

from pathlib import Path

import yaml

from kb.corpus import Corpus, entry_folders, load

__all__ = ["answers", "table"]

_LIST = "seeds.yaml"


def answers(corpus: Corpus, folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return, for each (document, item) of the list in `folder`, the slugs of the entries that name it among their sources."""
    documents = yaml.safe_load((folder / _LIST).read_text("utf-8"))
    found: dict[tuple[str, str], list[str]] = {
        (document, item): [] for document, about in documents.items() for item in about["items"]
    }
    for entry in corpus:
        for source in entry.sources:
            document, mark, item = source.partition("#")
            if mark and not source.startswith("https:"):
                found.setdefault((document, item), []).append(entry.id)
    return found


def table(corpus: Corpus, folder: Path) -> str:
    """Return the whole page, in Markdown."""
    documents = yaml.safe_load((folder / _LIST).read_text("utf-8"))
    found = answers(corpus, folder)
    lines = [
        "# What the founding documents teach",
        "",
        "Five documents started this project. Each of their items is answered by an entry that ran. Made by `python -m kb.seeds`; do not edit.",
    ]
    for document, about in documents.items():
        lines += ["", f"## {document}: {about['title']}", "", "| item | about | answered by |", "|---|---|---|"]
        for item, subject in about["items"].items():
            links = ", ".join(f"[{slug}]({corpus.entries[slug].topic}/{slug}.md)" for slug in found[document, item])
            lines.append(f"| {item} | {subject} | {links} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(load(), entry_folders()[0]), end="")  # noqa: T201 - it is a program that prints a page
