"""The table of what the founding documents teach and which entries answer it: `python -m kb.corpus.seed_coverage > entries/SEEDS.md`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from kb.corpus.bounded_yaml import YamlError, read_yaml
from kb.corpus.diagnostic import display_path
from kb.corpus.files import YAML_BYTES, UnreadableFile, read_text
from kb.corpus.loader import Corpus, entry_folders, load

__all__ = ["SeedDocument", "SeedListError", "answers", "read_seeds", "table"]

_FILE = "seeds.yaml"


class SeedListError(Exception):
    """The list of documents cannot be read; the text says where and why."""


class SeedDocument(NamedTuple):
    """A founding document: its title, and its items with the subject of each."""

    title: str
    items: dict[str, str]


def read_seeds(folder: Path) -> dict[str, SeedDocument]:
    """Return the founding documents by name, as `seeds.yaml` in a folder of entries lists them. Raises `SeedListError`."""
    path = folder / _FILE
    name = display_path(path)
    try:
        data = read_yaml(read_text(path, folder, YAML_BYTES)).data
    except UnreadableFile as error:
        raise SeedListError(f"{name}: {error}") from error
    except YamlError as error:
        raise SeedListError(f"{name}:{error.line}: {error}") from error
    if not isinstance(data, dict):
        raise SeedListError(f"{name}: no list of documents; write name: {{title: …, items: …}}")
    return {document: _document(name, document, about) for document, about in data.items()}


def answers(corpus: Corpus, folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return, for each (document, item) of the list in `folder`, the slugs of the entries that name it among their sources."""
    slugs: dict[tuple[str, str], list[str]] = {
        (name, item): [] for name, document in read_seeds(folder).items() for item in document.items
    }
    for entry in corpus:
        for source in entry.sources:
            name, mark, item = source.partition("#")
            if mark and not source.startswith("https:"):
                slugs.setdefault((name, item), []).append(entry.id)
    return slugs


def table(corpus: Corpus, folder: Path) -> str:
    """Return the whole page, in Markdown."""
    slugs = answers(corpus, folder)
    lines = [
        "# What the founding documents teach",
        "",
        "Five documents started this project. Each of their items is answered by an entry that ran. Made by `python -m kb.corpus.seed_coverage`; do not edit.",
    ]
    for name, document in read_seeds(folder).items():
        lines += ["", f"## {name}: {document.title}", "", "| item | about | answered by |", "|---|---|---|"]
        for item, subject in document.items.items():
            links = ", ".join(f"[{slug}]({corpus.entries[slug].topic}/{slug}.md)" for slug in slugs[name, item])
            lines.append(f"| {item} | {subject} | {links} |")
    return "\n".join(lines) + "\n"


def _document(name: str, document: str, about: Any) -> SeedDocument:
    match about:
        case {"title": str(title), "items": dict(items)} if all(isinstance(item, str) for item in items.values()):
            return SeedDocument(title, items)
    raise SeedListError(f"{name}: {document[:40]!r} has no title and items; write {{title: …, items: {{…}}}}")


if __name__ == "__main__":
    print(table(load(), entry_folders()[0]), end="")  # noqa: T201 - it is a program that prints a page
