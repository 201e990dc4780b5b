"""Answer a paste: match messages in up to three readings of it, add what its words find, decide how sure that is, and add what released packages say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from kb.index.manager import open_index
from kb.index.reader import Index
from kb.search.answer import Answer, Confidence, Evidence, Match, Understood
from kb.search.calibration import EVEN, model, probability
from kb.search.evidence import evidence
from kb.search.message_matching import (
    MessageMatch,
    best_ties,
    has_full_line,
    is_all_of_paste,
    match_messages,
    message_signals,
)
from kb.search.out_of_scope import raised_elsewhere
from kb.search.reading import Reading, readings
from kb.search.released import record_answer
from kb.text.languages import Lang
from kb.text.scripts import is_chinese
from kb.text.tracebacks import PastedError, own_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.search.query import Query

__all__ = ["best_reading", "is_settled", "lookup"]


def lookup(text: str, *, lang: Lang | None = None, limit: int = 5, index: Index | None = None) -> Answer:
    """Return the answer to pasted text: at most `limit` matches, best first.

    `lang` is detected from the text by default. `index` is what `open_index` returned; by default the index is opened,
    and built where needed.
    """
    index = open_index() if index is None else index
    reading, by_message = best_reading(index, text)
    query = cache(partial(_make_query, index, reading))  # many look-ups need none
    ties = best_ties(by_message)
    matches = [
        _message_match(index, reading, query, match, ties, is_alone=match.error_rank != by_message[0].error_rank)
        for match in _in_order(index, query, by_message, ties)
    ]
    settled = is_settled(reading, by_message)
    doubtful = settled and ties < 2 and _is_doubtful(matches[0])  # of entries with the same message one may answer
    if doubtful or not settled:
        matches = [
            match._replace(confidence="related") if doubtful or match.evidence.is_whole else match for match in matches
        ]
    asked = index.asked(reading.tokens)
    is_message_alone = bool(by_message) and is_all_of_paste(reading, by_message[0])
    if (
        not settled
        or asked not in ("", by_message[0].slug)
        or not (matches[0].confidence == "exact" or is_message_alone)
    ):
        matches = _with_candidates(index, reading, query, matches, limit, asked, settled=settled)
    if matches and reading.errors and raised_elsewhere(reading.text.text, reading.errors[0].start):
        matches = [match._replace(confidence="related") for match in matches]
    shown = _with_falling_scores(matches[:limit])
    answered = bool(shown) and shown[0].confidence != "related"
    understood = None if answered else _understood(reading)
    message = shown[0].evidence.template if answered else ""
    vectors = index.embeddings.cause_vectors(shown[0].id, message) if answered and not is_message_alone else []
    return Answer(
        answered=answered,
        matches=() if understood and understood.is_foreign and not doubtful else shown,
        errors=_pasted_errors(reading),
        lang=lang or ("zh" if is_chinese(text) else "en"),
        record=record_answer(reading, answered=answered),
        understood=understood,
        cause_similarities=query().cause_similarities(vectors, message) if vectors else (),
    )


def best_reading(index: Index, text: str) -> tuple[Reading, list[MessageMatch]]:
    """Return the first reading that a message explains, with its matches; if there is none, the first with any match, or the text as it is.

    Where the explained message has a full line, it may go on in the next one: then the reading with the longer message counts.
    """
    tried: list[tuple[Reading, list[MessageMatch]]] = []
    for reading in readings(index, text):
        tried.append((reading, match_messages(index, reading)))
        settled = [pair for pair in tried if is_settled(*pair)]
        if settled and (len(tried) > 1 or not has_full_line(reading, settled[0][1][0])):
            return max(settled, key=lambda pair: pair[1][0].specificity)
    return next((pair for pair in tried if pair[1]), tried[0])


def is_settled(reading: Reading, matches: list[MessageMatch]) -> bool:
    """Tell whether the first match is exact, and does not merely explain a warning or a wrapper while the paste has an unexplained error or traceback."""
    if not matches or matches[0].confidence != "exact":
        return False
    rank = matches[0].error_rank
    explains_error = not matches[0].is_aside and (rank >= len(reading.errors) or reading.errors[rank].role == "error")
    return explains_error or not (
        reading.is_cut_off or any(error.role == "error" and error.message for error in reading.errors)
    )


def _is_doubtful(match: Match) -> bool:
    """Tell whether a whole message is printed for so many other reasons, as far as the rest of the paste tells, that its entry is no answer."""
    is_judged = match.evidence.is_whole and match.confidence == "likely"
    return is_judged and match.score < EVEN


def _in_order(index: Index, query: Callable[[], Query], matches: list[MessageMatch], ties: int) -> list[MessageMatch]:
    """Return the matches with those that are tied with the first in the order of what else the paste shares with the entries."""
    if ties < 2:
        return matches
    from kb.search.ranking import rank_ties

    return [*rank_ties(index, query(), matches[:ties]), *matches[ties:]]


def _message_match(
    index: Index, reading: Reading, query: Callable[[], Query], match: MessageMatch, ties: int, *, is_alone: bool
) -> Match:
    """Return the match as part of an answer; `ties` is the number of entries that have the first match's message.

    `is_alone` says that the rest of the paste is about another error. A match that needed a corrected spelling is at most likely, as is one whose entry
    often was not the answer to posts with its message, or says other things than the rest of the paste.
    """
    confidence: Confidence = "likely" if reading.is_corrected else match.confidence
    score = model().likely
    if confidence == "exact":
        reliability = model().reliability.get(match.slug, model().usual_reliability)
        score = probability(
            model().message(message_signals(reading, query, match, reliability, ties, is_alone=is_alone))
        )
        confidence = "exact" if score >= model().exact else "likely"
    return Match(match.slug, confidence, score, index.summary(match.slug)["title"], evidence(index, reading, match))


def _with_candidates(
    index: Index,
    reading: Reading,
    query: Callable[[], Query],
    known: list[Match],
    limit: int,
    asked: str,
    *,
    settled: bool,
) -> list[Match]:
    """Return the matches and what the words of the paste find besides, answers before what is only related.

    A paste that is, as a whole, a title, an alias or a message without its values is answered by the entry `asked`. What words find is no answer
    where a message has `settled` what the error is, however doubtful its cause; then no model of sentences is asked, which would take most of the time.
    """
    from kb.search.ranking import compare_entries, rank, words_model
    from kb.search.signals import answer_signals, is_foreign, lacks_message
    from kb.text.analyzer import as_written, spellings

    ranked = rank(compare_entries(index, reading, query(), by_sentences=not settled))
    written = spellings(reading.text.text)
    if asked:
        shared = next((features.shared_terms for _, features in ranked if features.slug == asked), ())
        why = Evidence(words=as_written(written, shared) or (" ".join(reading.text.text.split()),))
        title = index.summary(asked)["title"]
        others = [match for match in known if match.id != asked]
        known = [Match(asked, "likely", model().likely, title, why), *others]
    if not ranked:
        return known
    slugs = {match.id for match in known}
    fitted = words_model([features for _, features in ranked])
    log_odds = fitted.answer(answer_signals(reading, ranked))
    is_excluded = settled or is_foreign(reading) or lacks_message(reading, ranked[0][1])
    is_answer = probability(log_odds) >= fitted.threshold and not is_excluded
    added = []
    for position, (score, features) in enumerate(ranked[:limit]):
        if features.slug in slugs:
            continue
        behind = ranked[0][0] - score
        why = Evidence(words=as_written(written, features.shared_terms))
        is_shown = bool(why.words)  # a corrected spelling alone is no reason that could be shown
        confidence: Confidence = "likely" if position == 0 and is_answer and is_shown else "related"
        title = index.summary(features.slug)["title"]
        added.append(Match(features.slug, confidence, round(probability(log_odds - behind), 4), title, why))
    return sorted([*known, *added], key=lambda match: match.confidence == "related")


def _make_query(index: Index, reading: Reading) -> Query:
    from kb.search.query import make_query

    return make_query(index, reading)


def _understood(reading: Reading) -> Understood:
    """Return what the paste shows of its error and what to try next. A library that no frame names, or the reader's own code, raised nothing for sure."""
    from kb.search.next_steps import next_step
    from kb.text.paste_context import read_context
    from kb.text.software import BUILT_ON_PYTORCH

    context = read_context(reading.text, reading.errors)
    package = context.raised_by or ""
    version = context.versions.get(package, context.versions.get(package.replace("_", "-"), ""))
    is_foreign = bool(package) and package not in BUILT_ON_PYTORCH and not context.shows_pytorch
    return Understood(package, version, is_foreign, next_step(reading.errors))


def _pasted_errors(reading: Reading) -> tuple[PastedError, ...]:
    return tuple(
        PastedError(error.type, error.message, reading.text.line(error.start), own_frame(reading.text, error))
        for error in reading.errors
    )


def _with_falling_scores(matches: list[Match]) -> tuple[Match, ...]:
    """Return the matches in their order, with scores that never rise."""
    falling: list[Match] = []
    for match in matches:
        highest = falling[-1].score if falling else 1.0
        falling.append(match if match.score <= highest else match._replace(score=highest))
    return tuple(falling)
