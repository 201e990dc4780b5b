"""Build the index in a new folder and swap it in: a reader sees the old one or the new one, never half of one.

Only entries whose file changed are parsed again; what was parsed before is read back as plain data.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kb.card import make_card
from kb.corpus import Corpus, entry_files
from kb.entry import Block, Case, Entry, Fault, Message, Prose, Text
from kb.index import CURRENT, LISTING, MAIN, Index
from kb.ledger import Ledgers, load_ledgers
from kb.lexer import lex
from kb.parse import parse
from kb.pattern import OPEN, Slot
from kb.plant import trie_sections
from kb.spell import spell_sections
from kb.stamps import code_listing, listing
from kb.store import StoreError, blob_sections, string_sections, write_arrays
from kb.template import Template, TemplateError, compile_template
from kb.words import FOLDER as WORDS
from kb.words import entry_texts, write_words

__all__ = ["build", "template_sections", "templates_of", "write_index"]

_PARSED = "parsed.jsonl"
_SHORTEST_TAIL = 5


def build(folders: Sequence[str], place: str, *, waiting: bool, anew: bool = False) -> None:
    """Build the index of `folders` in `place` unless it is fresh; when another process is building, wait for it, or leave it to that one.

    `anew` builds in any case, and from nothing.
    """
    os.makedirs(place, exist_ok=True)
    with _locked(os.path.join(place, "lock"), waiting=waiting) as mine:
        if not mine:
            return
        current = _current(place)
        stamps = listing(folders)
        fresh = bool(current) and _read(os.path.join(current, LISTING)) == stamps and _whole(current)
        if fresh and not anew:
            return
        new = tempfile.mkdtemp(prefix="gen-", dir=place)
        try:
            _fill(new, "" if anew else current, folders, stamps)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        _swap(place, new, current)


def templates_of(entry: Entry) -> Iterator[Template]:
    """Yield the entry's compiled messages; one that cannot be compiled is left out, since `kb check` reports it."""
    for message in entry.messages:
        with contextlib.suppress(TemplateError):
            yield compile_template(message.text)


def _fill(new: str, current: str, folders: Sequence[str], stamps: str) -> None:
    corpus = _corpus(new, current, folders)
    write_index(new, corpus, load_ledgers([Path(folder) for folder in folders]), stamps)


def write_index(folder: str, corpus: Corpus, ledgers: Ledgers, stamps: str = "") -> None:
    """Write the index of these entries into a folder that exists; `stamps` says of which files it is made."""
    entries = list(corpus)
    sections = template_sections(entries)
    heads = [
        {
            "id": e.id,
            "kind": e.kind,
            "title": asdict(e.title),
            "explain": asdict(e.explain) if e.explain else None,
            "related": list(e.related),
        }
        for e in entries
    ]
    sections |= blob_sections("heads", heads) | blob_sections(
        "cards", [make_card(entry, corpus, ledgers) for entry in entries]
    )
    sections["entries.kind"] = bytes(entry.kind != "silent" for entry in entries)
    numbers = {entry.id: number for number, entry in enumerate(entries)}
    for slug, to in corpus.redirects.items():
        numbers.setdefault(slug, numbers.get(to, 0))
    sections |= string_sections("slugs", numbers)
    sections["slugs.entry"] = array("I", [0, *numbers.values()])
    sections |= spell_sections(_vocabulary(entries))
    sections |= write_words(os.path.join(folder, WORDS), entries, ledgers.printed())
    write_arrays(os.path.join(folder, MAIN), sections)
    Path(folder, LISTING).write_text(stamps, "utf-8")


def template_sections(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the prefix tree and the templates' data: each message, and its end from a clause on where no other entry has that end."""
    rows: list[tuple[int, Template, tuple[str | Slot, ...], bool]] = []
    tails: dict[tuple[str | Slot, ...], list[tuple[int, Template]]] = {}
    for owner, entry in enumerate(entries):
        for template in templates_of(entry):
            pieces = _closed(template.pieces)
            if not pieces:
                rows += [(owner, template, (name,), False) for name in _type_names(template)]
            else:
                rows.append((owner, template, pieces, False))
                for tail in _tails(template):
                    tails.setdefault(tail, []).append((owner, template))
    whole = {pieces for _, _, pieces, _ in rows}
    for tail, sources in tails.items():
        if tail not in whole and len({owner for owner, _ in sources}) == 1:
            rows.append((*sources[0], tail, True))
    owners = [owner for owner, *_ in rows]
    tells = _information(rows)
    data = [
        {
            "source": template.source,
            "type": template.type,
            "pieces": [list(p) if isinstance(p, Slot) else p for p in pieces],
            "tells": [tells[p] for p in pieces if isinstance(p, str)],
            "tail": tail,
            "bare": not _closed(template.pieces),
        }
        for _, template, pieces, tail in rows
    ]
    return {
        **trie_sections([pieces for _, _, pieces, _ in rows], owners),
        **blob_sections("templates", data),
        "templates.owner": array("I", owners),
    }


def _vocabulary(entries: Sequence[Entry]) -> list[str]:
    """Return the words of messages, titles, aliases and prose, the commonest first."""
    counts = Counter(
        token.text
        for entry in entries
        for field, text in entry_texts(entry)
        if field in ("message", "title", "alias", "prose", "api")
        for token in lex(text)
        if token.type in ("word", "dtype", "device") and token.text.isascii()
    )
    return [word for word, _ in counts.most_common()]


def _information(rows: Sequence[tuple[int, Template, tuple[str | Slot, ...], bool]]) -> dict[str, float]:
    """Return how much each word of the messages tells, in nats: less, the more entries have it."""
    owners: dict[str, set[int]] = {}
    for owner, _, pieces, _ in rows:
        for piece in pieces:
            if isinstance(piece, str):
                owners.setdefault(piece, set()).add(owner)
    total = len({owner for owner, *_ in rows})
    return {word: round(math.log(1 + total / len(found)), 1) for word, found in owners.items()}


def _closed(pieces: tuple[str | Slot, ...]) -> tuple[str | Slot, ...]:
    """The pieces without placeholders for anything at either end: those tell nothing."""
    start, end = 0, len(pieces)
    while start < end and isinstance(pieces[start], Slot) and pieces[start].type in OPEN:  # type: ignore[union-attr]
        start += 1
    while end > start and isinstance(pieces[end - 1], Slot) and pieces[end - 1].type in OPEN:  # type: ignore[union-attr]
        end -= 1
    return pieces[start:end]


def _type_names(template: Template) -> list[str]:
    """Return the type of a message that consists of nothing else, as a token: with its module, and without."""
    full = template.source.partition(": ")[0].rstrip(": ").lower()
    return [full, template.type.lower()] if "." in full else [full]


def _tails(template: Template) -> Iterator[tuple[str | Slot, ...]]:
    """Yield what follows each clause of the message, where it is long enough to be told from other messages."""
    for clause in _clauses(template.source):
        with contextlib.suppress(TemplateError):
            pieces = _closed(compile_template(clause).pieces)
            if sum(isinstance(piece, str) for piece in pieces) >= _SHORTEST_TAIL and len(pieces) < len(template.pieces):
                yield pieces


def _clauses(source: str) -> list[str]:
    body = source.partition(": ")[2]
    found = []
    for mark in (": ", ". ", ", ", "! ", "\n"):
        rest = body
        while rest := rest.partition(mark)[2]:
            found.append(rest)
    return found


def _corpus(new: str, current: str, folders: Sequence[str]) -> Corpus:
    """Return all entries, parsed now or before by this very code, and note in `new` what was parsed."""
    code = json.dumps(code_listing())
    first, *rows = _read(os.path.join(current, _PARSED)).splitlines() if current else [""]
    known = {}
    for line in rows if first == code else ():
        row = json.loads(line)
        known[row["path"], row["stamp"]] = row["entry"]
    entries: dict[str, Entry] = {}
    redirects: dict[str, str] = {}
    faults: list[Fault] = []
    with open(os.path.join(new, _PARSED), "w", encoding="utf-8") as file:
        file.write(code + "\n")
        for folder in map(Path, folders):
            for path in entry_files(folder):
                status = path.stat()
                key = str(path), f"{status.st_mtime_ns}-{status.st_size}"
                if key in known:
                    entry: Entry | None = _restored(known[key], path)
                else:
                    entry, found = parse(path, name=str(path.relative_to(folder.parent)))
                    faults += found
                if entry is None or entry.id in entries:
                    continue
                entries[entry.id] = entry
                redirects |= dict.fromkeys(entry.also, entry.id)
                file.write(
                    json.dumps(
                        {"path": key[0], "stamp": key[1], "entry": asdict(entry)}, default=str, ensure_ascii=False
                    )
                    + "\n"
                )
    return Corpus(entries, tuple(faults), redirects)


def _restored(data: dict[str, Any], path: Path) -> Entry:
    """Return the entry that `asdict` turned into plain data."""
    lists: dict[str, Any] = {key: tuple(data[key]) for key in ("apis", "tags", "sources", "related", "also")}
    cases = [{**case, "repro": Block(**case["repro"]), "fix": Block(**case["fix"])} for case in data["cases"]]
    return Entry(
        **{key: data[key] for key in ("id", "topic", "kind", "source")},
        **lists,
        title=Text(**data["title"]),
        explain=Text(**data["explain"]) if data["explain"] else None,
        messages=tuple(Message(**message) for message in data["messages"]),
        aliases={lang: tuple(texts) for lang, texts in data["aliases"].items()},
        prose={lang: Prose(**prose) for lang, prose in data["prose"].items()},
        cases=tuple(Case(**case) for case in cases),
        path=path,
    )


def _current(place: str) -> str:
    name = _read(os.path.join(place, CURRENT)).strip()
    return os.path.join(place, name) if name and os.path.isdir(os.path.join(place, name)) else ""


def _whole(folder: str) -> bool:
    try:
        Index(folder)
    except (OSError, StoreError, ValueError, KeyError):
        return False
    return True


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except OSError:
        return ""


def _swap(place: str, new: str, old: str) -> None:
    """Make `new` the current generation; the one before stays for those who have it open, older ones go."""
    pointer = os.path.join(place, f"{CURRENT}.{os.getpid()}")
    Path(pointer).write_text(os.path.basename(new), "utf-8")
    os.replace(pointer, os.path.join(place, CURRENT))
    for name in os.listdir(place):
        path = os.path.join(place, name)
        if name.startswith("gen-") and path not in (new, old):
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _locked(path: str, *, waiting: bool) -> Iterator[bool]:
    """Hold the lock file; yield False when another process holds it and we do not wait. The system frees it when a process dies."""
    import fcntl

    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if waiting else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
