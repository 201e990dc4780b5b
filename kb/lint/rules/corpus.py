"""Rules that hold between entries."""

from __future__ import annotations

from collections.abc import Iterator

from kb.corpus.entry import Entry
from kb.corpus.guidance import linked_entries
from kb.corpus.loader import Corpus
from kb.lint.rules import Finding, line_containing, line_of, rule
from kb.text.languages import LANGUAGES


@rule("KB040", "Related entries exist, and lead back.")
def related(entry: Entry, corpus: Corpus) -> Iterator[Finding]:
    """Dead links, links to oneself, and links that the other side does not return; an entry of another folder need not return them."""
    line = line_of(entry, "related:")
    for slug in entry.related:
        target = corpus.get(slug)
        if target is None:
            yield line, f"related: there is no entry {slug!r}; name one that exists"
        elif target.id == entry.id:
            yield line, "related: an entry is not related to itself; drop it"
        elif entry.id not in target.related and target.path.parent.parent == entry.path.parent.parent:
            yield line, f"related: {slug} does not lead back; add {entry.id} to its `related`"


@rule("KB041", "No two entries have the same alias, and no entry has one twice.")
def same_alias(entry: Entry, corpus: Corpus) -> Iterator[Finding]:
    """Compared without case and outer spaces."""
    line = line_of(entry, "aliases:")
    for lang in LANGUAGES:
        keys = entry.alias_keys(lang)
        for key in sorted({key for key in keys if keys.count(key) > 1}):
            yield line, f"the alias {key!r} is there twice; keep one"
        for key in sorted(set(keys)):
            for slug in corpus.alias_owners[lang].get(key, ()):
                if slug > entry.id:
                    yield line, f"the alias {key!r} is one of {slug} too; say what is particular to each"


@rule("KB042", "A slug that leads elsewhere is no entry of its own.")
def redirect_free(entry: Entry, corpus: Corpus) -> Iterator[Finding]:
    """`also` names only slugs that are free and that no other entry claims."""
    line = line_of(entry, "also:")
    for slug in entry.also:
        if slug in corpus.entries:
            yield line, f"also: {slug!r} is an entry of its own; drop one of the two"
        elif (owner := corpus.redirects.get(slug)) != entry.id:
            yield line, f"also: {slug!r} leads to {owner} already; drop it here or there"


@rule("KB046", "A link to another entry is the path to its file.")
def entry_links(entry: Entry, corpus: Corpus) -> Iterator[Finding]:
    """The page goes by the slug; on a code host only the right folder leads there. Links to entries that do not exist are KB035."""
    for lang in LANGUAGES:
        for slug, path in linked_entries(entry.prose(lang)).items():
            target = corpus.get(slug)
            if target is None or target.path.parent.parent != entry.path.parent.parent:
                continue
            right = f"{slug}.md" if target.topic == entry.topic else f"../{target.topic}/{slug}.md"
            if path != right:
                yield line_containing(entry, f"]({path})"), f"the link leads nowhere; write [...]({right})"
