"""Answer by words where no message matches whole: misspelt messages first, then what the paste shares with entries."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from kb.analysis import CONCEPT, message_terms
from kb.clean import View
from kb.exact import matches_by_message
from kb.index import Index
from kb.lexer import Token, lex
from kb.paste import Spotted
from kb.query import weigh
from kb.result import Evidence, Match
from kb.vectors import MESSAGE, SATURATION

__all__ = ["Traits", "matches_by_words"]

_CANDIDATES = 20
_LEAST_SHARED = 3.0
"""The BM25 score, in nats, from which a question is answered."""

_PHRASE, _MESSAGE = 2.0, 10.0
"""What a title or alias like the paste, and a message like its error, add to the BM25 score."""

_HAS_MESSAGE = 0.9
"""Factor for entries about an error where the paste shows none: one about a silent pitfall is likelier to be meant."""

_LIKE_ENOUGH = 1.9
_PYTORCH = re.compile(r"torch|aten|\bATen\b|\bTHC|c10|CUDA|cuda|NCCL|nccl|cudnn|cublas")


class Traits(NamedTuple):
    """What an entry shares with a paste.

    `bm25` is the pooled score; `covered` the share of the paste's information that the entry has; `message` how alike
    its most alike message and the paste's error are, `phrase` its most alike title or alias and the whole paste.
    `unshown` tells that the entry is about an error or a warning and the paste shows none.
    """

    entry: int
    bm25: float
    covered: float
    message: float
    phrase: float
    unshown: bool
    shared: tuple[str, ...]


def matches_by_words(
    index: Index, view: View, errors: Sequence[Spotted], known: Sequence[Match], limit: int, pasted: str
) -> list[Match]:
    """Return the matches known so far, `known`, with those that words find, best first."""
    mended = _mended(index, view)
    if mended is not None:
        better = matches_by_message(index, view, mended, errors, pasted)
        if better and better[0].confidence == "exact":
            softer = [one._replace(confidence="likely", score=one.score - 0.1) for one in better]
            return softer[:limit]
    found = traits(index, view, errors)
    found.sort(key=_rank, reverse=True)
    likely = [one for one in known if one.confidence != "related"]
    have = {one.id for one in known}
    sure = bool(found) and _sure(index, found[0], view, errors)
    guessed = []
    for place, one in enumerate(found):
        head = index.head(one.entry)
        if head["id"] in have:
            continue
        score = round(0.75 * _rank(one) / (_rank(one) + 10), 4)
        words = tuple(term for term in one.shared if not term.startswith(CONCEPT))[:8]
        guessed.append(
            Match(
                head["id"], "likely" if sure and not place else "related", score, head["title"], Evidence(words=words)
            )
        )
    return [*likely, *(one for one in known if one not in likely), *guessed][:limit]


def closest(index: Index, view: View, errors: Sequence[Spotted], entries: Sequence[int]) -> dict[int, float]:
    """Return how much each of the entries has of what the paste says beside its error, as a sum of BM25 terms."""
    vectors = index.vectors
    weights = weigh(view, errors, index.speller)
    scores = {}
    for entry in entries:
        said = vectors.said(entry).terms
        shared = [term for term in weights if term in said]
        scores[entry] = sum(weights[t] * vectors.idf(t) * said[t] / (said[t] + SATURATION) for t in shared)
    return scores


def traits(index: Index, view: View, errors: Sequence[Spotted]) -> list[Traits]:
    """Return what the likeliest entries share with the paste."""
    vectors = index.vectors
    weights = weigh(view, errors, index.speller)
    idf = {term: vectors.idf(term) for term in weights}
    total = sum(weight * idf[term] for term, weight in weights.items()) or 1.0
    said = _said(errors)
    found = []
    for candidate in index.words.search(weights, _CANDIDATES):
        vector, phrases = vectors.said(candidate.entry)
        shared = sorted((term for term in weights if term in vector), key=lambda term: -weights[term] * idf[term])
        covered = sum(weights[term] * idf[term] for term in shared) / total
        message = max((_alike(said, p, vectors.idf) for f, p in phrases if f == "message"), default=0.0)
        phrase = max((_within(weights, p, vectors.idf) for f, p in phrases if f != "message"), default=0.0)
        unshown = not errors and index.head(candidate.entry)["kind"] != "silent"
        found.append(
            Traits(candidate.entry, candidate.score, covered, message if said else 0.0, phrase, unshown, tuple(shared))
        )
    return found


def _rank(one: Traits) -> float:
    return (one.bm25 + _PHRASE * one.phrase) * (_HAS_MESSAGE if one.unshown else 1.0) + _MESSAGE * one.message


def _sure(index: Index, first: Traits, view: View, errors: Sequence[Spotted]) -> bool:
    """Tell whether the first entry answers the paste.

    An error that comes with a message has to be alike, and the less it is the more of the rest has to be, or the error
    has to come from PyTorch at least: what another library says about other things is no reason to answer. Where there
    is no message, its type has to be one that entries speak of, and a question has to share enough with the entry.
    """
    main = next((error for error in errors if error.role == "error"), None)
    if main is None:
        return first.bm25 >= _LEAST_SHARED
    if not main.message:
        return bool(index.vectors.count(main.type.lower())) and first.bm25 >= 2 * _LEAST_SHARED
    return 3 * first.message + 2 * first.covered + _from_pytorch(view, main) >= _LIKE_ENOUGH


def _from_pytorch(view: View, error: Spotted) -> bool:
    """Tell whether PyTorch is named by the error or in the frame or the code just above it."""
    above = view.text[: error.start].rstrip().rsplit("\n", 2)[-2:]
    return bool(_PYTORCH.search(" ".join([*above, error.type, error.message])))


def _said(errors: Sequence[Spotted]) -> set[str]:
    """Return the words of the root cause's message."""
    main = next((error for error in errors if error.role == "error" and error.message), None)
    return message_terms(main.message[:400]) if main else set()


def _alike(said: set[str], message: Iterable[str], idf: Callable[[str], float]) -> float:
    """Return the share of the entry's message, by what its words tell, that was said; what was said beyond it counts a little."""
    words = set(message)
    tells = {word: idf(MESSAGE + word) ** 2 for word in words | said}
    both = sum(tells[word] for word in words & said)
    return both / (sum(tells[word] for word in words) + 0.3 * sum(tells[word] for word in said - words) or 1.0)


def _within(weights: Mapping[str, float], phrase: Sequence[str], idf: Callable[[str], float]) -> float:
    both = sum(weights[term] * idf(term) for term in phrase if term in weights)
    return both / math.sqrt(10 + sum(idf(term) ** 2 for term in phrase))


def _mended(index: Index, view: View) -> list[Token] | None:
    """Return the paste's tokens with misspelt words mended, or None when there is none."""
    speller, tokens, changed = index.speller, [], False
    for token in lex(view.text):
        mended = speller.mend(token.text) if token.type == "word" else []
        if mended:
            changed = True
            tokens += [token._replace(text=word) for word in mended]
        else:
            tokens.append(token)
    return tokens if changed else None
