"""Answer by words where no message matches whole: misspelt messages first, then what the paste shares with entries, if that is enough."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kb.analysis import as_written, message_terms, spellings, terms
from kb.clean import View
from kb.exact import matches_by_message
from kb.foreign import of_framework, of_others
from kb.index import Index
from kb.lexer import Token, lex
from kb.paste import SIGNALS, Spotted
from kb.query import weigh
from kb.result import Evidence, Match
from kb.vectors import MESSAGE, SATURATION, Phrase

__all__ = ["closest", "matches_by_words"]

_CANDIDATES = 20
"""Entries of the highest BM25 score that are looked at more closely."""

_LEAST_SHARED = 4.5
"""The BM25 score, in nats, from which a question is answered; less will do where it has a title or an alias in it."""

_STRANGE = {"RuntimeError": 0.45}
_STRANGER = 0.9
"""How alike a message must be that nothing shows to come from PyTorch, by its type: most errors of other types are not its own."""

_PHRASE, _MESSAGE = 2.0, 10.0
"""What a title or alias like the paste, and a message like its error, add to the BM25 score."""

_ECHO, _SAYS_THE_SAME = 20.0, 0.6
"""What a title or an alias that says the same as the paste adds to the score, and from which cosine of the two on it does."""

_HAS_MESSAGE = 0.8
"""Factor for entries about an error where the paste shows none: one about a silent pitfall is likelier to be meant."""

_LIKE_ENOUGH = 2.4
"""From which sum an error is answered: four times how alike its message is, the share of the paste that the entry has, one more if it is PyTorch's."""

_BEYOND = 0.3
"""How much what an error says beyond an entry's message counts against it."""

_MOST_MENDED = 400
"""Words looked up for a misspelling in one paste."""

_OTHERS = 3.0
"""How many times as much a question has to share that names another library or tool and nothing of PyTorch."""

_PYTORCH = re.compile(
    r"\b(?:(?:lib|py|py_)?torch|aten|c10d?)\b|\btorch(?:_cpu|_python|[a-z])|cuda|cudnn|cublas|nccl|\bTHC",
    re.IGNORECASE,
)
"""What shows in an error, its frame or its code that PyTorch raised it; `acme_torch_utils` does not."""


class _Traits(NamedTuple):
    """What an entry shares with a paste.

    `bm25` is the pooled score; `message` how alike its most alike message and the paste's error are; `phrase` how much of
    its most alike title or alias stands in the paste, `echo` how near one of them and the whole paste are to saying the
    same, as a cosine.
    `unshown` tells that the entry is about an error or a warning and the paste shows none.
    """

    entry: int
    bm25: float
    message: float
    phrase: float
    echo: float
    unshown: bool


def matches_by_words(
    index: Index, view: View, errors: Sequence[Spotted], known: Sequence[Match], limit: int, pasted: str
) -> list[Match]:
    """Return the matches known so far, `known`, with those that words find, best first.

    What is known of a mere warning, beside an error that nothing explains, is related and no more.
    """
    mended = _mended(index, view)
    if mended is not None:
        better = matches_by_message(index, view, mended, errors, pasted)
        if better and better[0].confidence == "exact":
            return [one._replace(confidence="likely", score=one.score - 0.1) for one in better]
    vectors = index.vectors
    weights = weigh(view, errors, index.speller)
    worth = {term: weight * vectors.idf(term) for term, weight in weights.items()}
    found = sorted(_traits(index, weights, worth, errors), key=_rank, reverse=True)
    have, written = {one.id for one in known}, spellings(view.text)
    first = [one._replace(confidence="related") if one.confidence == "exact" else one for one in known]
    guessed: list[Match] = []
    for one in found[:limit]:
        head = index.head(one.entry)
        if head["id"] in have:
            continue
        has = vectors.terms(one.entry)
        shared = sorted((term for term in worth if term in has), key=lambda term: -worth[term])
        covered = sum(worth[term] for term in shared) / sum(worth.values())
        sure = one is found[0] and _sure(index, one, covered, view, errors)
        words = as_written(written, shared)
        score = round(0.75 * _rank(one) / (_rank(one) + 10), 4)
        guessed.append(Match(head["id"], "likely" if sure else "related", score, head["title"], Evidence(words=words)))
    return sorted([*first, *guessed], key=lambda one: one.confidence == "related")


def closest(
    index: Index, view: View, errors: Sequence[Spotted], entries: Sequence[int], message: str
) -> dict[int, float]:
    """Return how much each of the entries has of what the paste says beside the message that they share."""
    vectors = index.vectors
    weights = weigh(view, errors, index.speller)
    said = set(terms(message))
    worth = {term: weight * vectors.idf(term) for term, weight in weights.items() if term not in said}
    scores = {}
    for entry in entries:
        has = vectors.terms(entry)
        pooled = sum(worth[term] * has[term] / (has[term] + SATURATION) for term in worth if term in has)
        scores[entry] = pooled + _PHRASE * max(vectors.phrases(entry).shared(worth), default=0.0)
    return scores


def _traits(
    index: Index, weights: Mapping[str, float], worth: Mapping[str, float], errors: Sequence[Spotted]
) -> list[_Traits]:
    """Return what the likeliest entries share with the paste; `worth` is each term's weight times what it tells."""
    vectors = index.vectors
    said = _said(errors)
    tells = {word: vectors.idf(MESSAGE + word) ** 2 for word in said}
    total = sum(tells.values())
    common = {term: tells * vectors.idf(term) for term, tells in worth.items()}
    length = math.hypot(*worth.values())
    found = []
    for entry, score in index.words.search(weights, _CANDIDATES):
        phrases = vectors.phrases(entry)
        message = phrase = echo = 0.0
        for one, within, both in zip(phrases.each, phrases.shared(worth), phrases.shared(common), strict=True):
            if one.field != "message":
                phrase = max(phrase, within)
                echo = max(echo, both / length)
            elif said:
                message = max(message, _alike(tells, total, one))
        unshown = not errors and index.has_message(entry)
        found.append(_Traits(entry, score, message, phrase, echo, unshown))
    return found


def _rank(one: _Traits) -> float:
    likely = (one.bm25 + _PHRASE * one.phrase) * (_HAS_MESSAGE if one.unshown else 1.0)
    return likely + _MESSAGE * one.message + _ECHO * max(0.0, one.echo - _SAYS_THE_SAME)


def _sure(index: Index, first: _Traits, covered: float, view: View, errors: Sequence[Spotted]) -> bool:
    """Tell whether the first entry answers the paste.

    An error that comes with a message has to be alike, and the less it is the more of the rest has to be, or the error
    has to come from PyTorch at least: what another library says about other things is no reason to answer. Where there
    is no message, its type has to be one that entries speak of, and a question has to share enough with the entry.
    """
    main = _main(errors)
    if main is None:
        if first.echo >= _SAYS_THE_SAME:
            return True
        if of_framework(view.text):
            return False
        if of_others(view.text):
            return first.bm25 >= _OTHERS * _LEAST_SHARED
        return first.bm25 >= _LEAST_SHARED or (first.bm25 >= 0.6 * _LEAST_SHARED and first.phrase >= 1)
    if not main.message or main.type in SIGNALS:
        spoken_of = main.type in SIGNALS or index.vectors.count(main.type.lower())
        return bool(spoken_of) and first.bm25 >= 2 * _LEAST_SHARED
    own = _from_pytorch(view, main) and not of_others(view.text)
    if not own and first.message < _STRANGE.get(main.type, _STRANGER):
        return False
    return 4 * first.message + covered + own >= _LIKE_ENOUGH


def _from_pytorch(view: View, error: Spotted) -> bool:
    """Tell whether PyTorch is named by the error or in the frame or the code just above it."""
    lines = view.text[: error.start].rstrip().rsplit("\n", 3)[-3:]
    above = [line for line in lines if line.strip("^~ ")][-2:]
    return bool(_PYTORCH.search(" ".join([*above, error.type, error.message])))


def _main(errors: Sequence[Spotted]) -> Spotted | None:
    """Return the root cause: the first error, or where there is none the first warning."""
    return next((error for role in ("error", "warning") for error in errors if error.role == role), None)


def _said(errors: Sequence[Spotted]) -> set[str]:
    """Return the words of the root cause's message."""
    main = _main([error for error in errors if error.message])
    return message_terms(main.message[:400]) if main else set()


def _alike(tells: Mapping[str, float], total: float, message: Phrase) -> float:
    """Return the share of an entry's message that was said, by what its words tell; what was said beyond it counts a little."""
    both = sum(tells[word] for word in message.terms if word in tells)
    return both / (message.norm + _BEYOND * (total - both) or 1.0)


def _mended(index: Index, view: View) -> list[Token] | None:
    """Return the paste's tokens with misspelt words mended, or None when there is none."""
    speller, tokens, changed, tried = index.speller, [], False, 0
    for token in lex(view.text):
        mended: list[str] = []
        if token.type == "word" and tried < _MOST_MENDED:
            mended = speller.mend(token.text)
            tried += 1
        if mended:
            changed = True
            tokens += [token._replace(text=word) for word in mended]
        else:
            tokens.append(token)
    return tokens if changed else None
