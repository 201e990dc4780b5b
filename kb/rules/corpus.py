"""Rules that hold between entries."""

from __future__ import annotations

from collections.abc import Iterator

from kb.corpus import Corpus
from kb.entry import LANGUAGES, Entry
from kb.rules import Finding, line_of, rule


@rule("KB040", "Related entries exist, and lead back.")
def related(entry: Entry, corpus: Corpus) -> Iterator[Finding]:
    """Dead links, links to oneself, and links that the other side does not return; an entry of another folder need not return them."""
    line = line_of(entry, "related:")
    for slug in entry.related:
        other = corpus.get(slug)
        if other is None:
            yield line, f"related: there is no entry {slug!r}; name one that exists"
        elif other.id == entry.id:
            yield line, "related: an entry is not related to itself; drop it"
        elif entry.id not in other.related and other.path.parent.parent == entry.path.parent.parent:
            yield line, f"related: {slug} does not lead back; add {entry.id} to its `related`"


@rule("KB041", "No two entries have the same alias, and no alias is said twice.")
def same_alias(entry: Entry, corpus: Corpus) -> Iterator[Finding]:
    """Compared without case and outer spaces."""
    for lang in LANGUAGES:
        own = [_fold(alias) for alias in entry.aliases[lang]]
        for alias in sorted({alias for alias in own if own.count(alias) > 1}):
            yield line_of(entry, "aliases:"), f"the alias {alias!r} stands twice; keep one"
        for other in corpus:
            if other.id <= entry.id:
                continue
            for alias in sorted(set(own) & {_fold(text) for text in other.aliases[lang]}):
                yield (
                    line_of(entry, "aliases:"),
                    f"the alias {alias!r} is one of {other.id} too; say what is particular to each",
                )


@rule("KB042", "A slug that leads elsewhere is no entry of its own.")
def redirect_free(entry: Entry, corpus: Corpus) -> Iterator[Finding]:
    """`also` names only slugs that are free and that no other entry claims."""
    for slug in entry.also:
        if slug in corpus.entries:
            yield line_of(entry, "also:"), f"also: {slug!r} is an entry of its own; drop one of the two"
        elif corpus.redirects.get(slug) != entry.id:
            yield (
                line_of(entry, "also:"),
                f"also: {slug!r} leads to {corpus.redirects[slug]} already; drop it here or there",
            )


def _fold(text: str) -> str:
    return text.strip().casefold()
