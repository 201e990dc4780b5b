"""Find message templates that match what another entry's repro printed: such a template would answer the wrong question."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kb.clean import plain
from kb.corpus import Corpus
from kb.exact import error_at
from kb.growing import Log
from kb.lexer import lex
from kb.paste import find_errors
from kb.store import Arrays, Blobs, Texts, write_arrays
from kb.template import compile_template
from kb.trie import Hit, Trie
from kb.wordings import Wordings, said, templates_of

__all__ = ["Stranger", "strangers"]

_LEAST = 3
"""Templates with fewer words of their own count only behind their type, which an output of another type does not have."""


class Stranger(NamedTuple):
    """A template of the entry `slug` that matches what a repro of the entry `other` printed."""

    slug: str
    template: str
    other: str


def strangers(corpus: Corpus, printed: Mapping[str, str]) -> list[Stranger]:
    """Return every template that matches the output of another entry's repro; `printed` holds the outputs by case id.

    Of several errors in an output only those count that the entry's own templates match. A match inside a longer one of
    its own is none: the more specific wins. Nor is a message that both entries give, word for word: there the rest of a
    paste decides.
    """
    entries = list(corpus)
    messages = [[message.text for message in entry.messages] for entry in entries]
    given = {
        entry.id: {one.pieces for one in templates_of(texts)} for entry, texts in zip(entries, messages, strict=True)
    }
    with tempfile.TemporaryDirectory() as folder:
        path, log = f"{folder}/templates", Log(Path(folder))
        wordings = Wordings(log)
        wordings.change({}, {number: said(texts) for number, texts in enumerate(messages)}, lambda _: said(()))
        write_arrays(path, wordings.sections())
        arrays, texts = Arrays(path), Texts(folder, log.close())
        trie, owners, blobs = Trie(arrays), arrays["templates.owner"], Blobs(arrays, "templates", texts)
        found = set()
        for case, text in printed.items():
            own = case.partition("/")[0]
            view = plain(text)
            tokens, errors = lex(view.text), find_errors(view)
            hits = [hit for hit in trie.find(tokens) if hit.whole and hit.literals >= _LEAST]
            mine = [hit for hit in hits if entries[owners[hit.template]].id == own]
            meant = {error_at(view, errors, tokens[hit.start].start) for hit in mine} - {len(errors)}
            for hit in hits:
                if meant and error_at(view, errors, tokens[hit.start].start) not in meant:
                    continue
                slug, template = entries[owners[hit.template]].id, blobs[hit.template]
                shared = compile_template(template["source"]).pieces in given.get(own, ())
                if slug != own and not template["tail"] and not shared and not any(_covers(one, hit) for one in mine):
                    found.add(Stranger(slug, template["source"], own))
    return sorted(found)


def _covers(one: Hit, other: Hit) -> bool:
    return one.start <= other.start and other.end <= one.end and one.literals >= other.literals
