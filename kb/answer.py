"""Answer a paste: the entries whose messages match it, else those whose words do, with the evidence and how sure that is."""

from __future__ import annotations

from kb.clean import View, plain, rewrap
from kb.exact import matches_by_message
from kb.foreign import raised_elsewhere
from kb.index import Index, open_index
from kb.lexer import lex
from kb.paste import FoundError, Frame, Spotted, find_errors, own_frame
from kb.result import Answer, Confidence, Evidence, Lang, Match

__all__ = ["Answer", "Confidence", "Evidence", "FoundError", "Frame", "Match", "lookup"]


def lookup(text: str, *, lang: Lang | None = None, limit: int = 5, index: Index | None = None) -> Answer:
    """Return the answer to pasted text: at most `limit` matches.

    `lang` is told from the text unless it is given. `index` is what `open_index` returned; without it the index is
    opened, and built where needed.
    """
    opened = open_index() if index is None else index
    view = plain(text)
    errors = find_errors(view)
    matches = matches_by_message(opened, view, lex(view.text), errors, text)
    if not _settled(matches) and (joined := rewrap(view)) is not None:
        errors_joined = find_errors(joined)
        better = matches_by_message(opened, joined, lex(joined.text), errors_joined, text)
        if _settled(better):
            view, errors, matches = joined, errors_joined, better
    if not _settled(matches) or _beside_the_point(matches[0], view, errors):
        from kb.guess import matches_by_words

        matches = matches_by_words(opened, view, errors, matches, limit, text)
    if matches and errors and raised_elsewhere(view.text, errors[0].start):
        matches = [one._replace(confidence="related") for one in matches]
    found = tuple(FoundError(one.type, one.message, view.line(one.start), own_frame(view, one)) for one in errors)
    told: Lang = lang or ("zh" if _is_chinese(text) else "en")
    kept = tuple(_falling(matches[:limit]))
    return Answer(bool(kept) and kept[0].confidence != "related", kept, found, told)


def _settled(matches: list[Match]) -> bool:
    return bool(matches) and matches[0].confidence == "exact"


def _beside_the_point(first: Match, view: View, errors: list[Spotted]) -> bool:
    """Tell whether the match explains a warning while the paste has an error, with a message, that nothing explains."""
    causes = [error for error in errors if error.role == "error" and error.message]
    warned = {view.line(error.start) for error in errors if error.role == "warning"}
    return bool(causes) and first.evidence.line_number in warned


def _falling(matches: list[Match]) -> list[Match]:
    """Return the matches in their order with scores that never rise."""
    kept: list[Match] = []
    for one in matches:
        most = kept[-1].score if kept else 1.0
        kept.append(one if one.score <= most else one._replace(score=most))
    return kept


def _is_chinese(text: str) -> bool:
    return not text.isascii() and sum("\u3400" <= letter <= "\u9fff" for letter in text) >= 2
