"""Answer by words where no message matches: candidates from Whoosh, ranked by what they share with the paste, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kb.analysis import CONCEPT
from kb.answer import Evidence, Match
from kb.clean import View
from kb.paste import Spotted
from kb.query import weigh

__all__ = ["by_words"]

_CANDIDATES = 24


def by_words(index: Any, view: View, errors: Sequence[Spotted], known: Sequence[Match], limit: int) -> list[Match]:
    """Return the matches known so far with those that words find."""
    weights = weigh(view, errors)
    searcher = index.words
    found = searcher.search(weights, _CANDIDATES)
    if not found:
        return list(known)
    total = sum(weight * searcher.idf(term) for term, weight in weights.items())
    matches = list(known)
    have = {one.id for one in known}
    for candidate in found[:limit]:
        head = index.head(candidate.entry)
        if head["id"] in have:
            continue
        vector = searcher.entry(candidate.entry)["terms"]
        shared = sorted((t for t in weights if t in vector), key=lambda t: -weights[t] * searcher.idf(t))
        coverage = sum(weights[t] * searcher.idf(t) for t in shared) / total
        score = round(min(0.79, candidate.score / (candidate.score + 30) * (0.5 + coverage / 2)), 4)
        words = tuple(t for t in shared if not t.startswith(CONCEPT))[:8]
        confidence = "likely" if score > 0.3 else "related"
        matches.append(Match(head["id"], confidence, score, head["title"], Evidence(words=words)))
    return matches
