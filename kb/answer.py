"""Answer a paste: the entries whose messages match it, else those whose words do, with the evidence and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from kb.clean import View, plain, rewrap
from kb.index import Index, open_index
from kb.lexer import Token, lex, numbers
from kb.paste import FoundError, Frame, Spotted, find_errors, own_frame
from kb.pattern import Slot, match
from kb.trie import Hit

__all__ = ["Answer", "Confidence", "Evidence", "FoundError", "Frame", "Match", "lookup"]

Confidence = Literal["exact", "likely", "related"]
Lang = Literal["en", "zh"]


class Evidence(NamedTuple):
    """Why an entry was found: the line of the paste and the template that matches it, or the words that both have."""

    line: str = ""
    line_number: int = 0
    template: str = ""
    words: tuple[str, ...] = ()
    values: dict[str, str] = {}
    explain: dict[str, str] | None = None


class Match(NamedTuple):
    """An entry that answers the paste, or is related to it."""

    id: str
    confidence: Confidence
    score: float
    title: dict[str, str]
    evidence: Evidence


class Answer(NamedTuple):
    """The matches, best first, and the errors in the paste, root cause first. `answered` is false where no match is better than related."""

    answered: bool
    matches: tuple[Match, ...]
    errors: tuple[FoundError, ...]
    lang: Lang

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as `kb lookup --json` prints it."""
        return {
            "answered": self.answered,
            "matches": [{**found._asdict(), "evidence": found.evidence._asdict()} for found in self.matches],
            "errors": [{**error._asdict(), "frame": error.frame and error.frame._asdict()} for error in self.errors],
        }


_LEAST_TOLD = 10.0
"""How much, in nats, the words of a part of a template must tell for the part to count: about as much as four words that are rare in messages."""

_PART = 0.6
"""The share of a template that must be there, by what its words tell, where the message goes on in other words."""


class _Found(NamedTuple):
    """A template that matched, the error it belongs to (by its place in the order of causes), and how well."""

    hit: Hit
    entry: int
    rank: int
    typed: bool
    template: dict[str, Any]
    confidence: Confidence


def lookup(text: str, *, lang: Lang | None = None, limit: int = 5, index: Index | None = None) -> Answer:
    """Return the answer to pasted text: at most `limit` matches.

    `lang` is told from the text unless it is given. `index` is what `open_index` returned; without it the index is opened, and built where needed.
    """
    opened = open_index() if index is None else index
    view = plain(text)
    errors = find_errors(view)
    matches = _by_message(opened, view, errors, text)
    if not matches or matches[0].confidence == "related" or not matches[0].evidence.template:
        from kb.guess import by_words

        matches = by_words(opened, view, errors, matches, limit)
    matches = matches[:limit]
    found = tuple(FoundError(e.type, e.message, view.line(e.start), own_frame(view, e)) for e in errors)
    told: Lang = lang or ("zh" if _is_chinese(text) else "en")
    return Answer(bool(matches) and matches[0].confidence != "related", tuple(matches), found, told)


def _is_chinese(text: str) -> bool:
    return not text.isascii() and sum("\u3400" <= letter <= "\u9fff" for letter in text) >= 2


def _by_message(index: Index, view: View, errors: Sequence[Spotted], pasted: str) -> list[Match]:
    """Return a match for each entry whose messages stand in the paste, the root cause's first."""
    tokens = lex(view.text)
    found = _judge(index, tokens, errors)
    if not any(one.confidence == "exact" for one in found):
        joined = rewrap(view)
        if joined:
            from kb.paste import find_errors as again

            tokens_ = lex(joined.text)
            better = _judge(index, tokens_, again(joined))
            if any(one.confidence == "exact" for one in better):
                view, tokens, found = joined, tokens_, better
    matches: dict[int, Match] = {}
    lines: list[str] = []
    for one in found:
        if one.entry not in matches:
            lines = lines or pasted.split("\n")
            matches[one.entry] = _matched(index, view, tokens, one, lines)
    return list(matches.values())


def _judge(index: Index, tokens: Sequence[Token], errors: Sequence[Spotted]) -> list[_Found]:
    """Return the templates that match, best first: of what causes, not of what reports; the most specific of those at one place."""
    found = []
    by_place = sorted((error.start, rank) for rank, error in enumerate(errors))
    for hit in index.trie.find(tokens):
        template = index.template(hit.template)
        rank = len(errors)
        for start, number in by_place:
            if start <= tokens[hit.start].start:
                rank = number
        type_ = template["type"].lower()
        before = tokens[hit.start - 1].text if hit.start else ""
        typed = bool(type_) and before.rpartition(".")[2] == type_
        confidence = _confidence(hit, template, typed, ended=hit.end == len(tokens))
        if confidence:
            found.append(_Found(hit, index.owners[hit.template], rank, typed, template, confidence))
    found = _drop_covered(found)
    level = {"exact": 0, "likely": 1, "related": 2}
    reporters = len([e for e in errors if e.role in ("error", "sign")])

    def order(one: _Found) -> tuple[Any, ...]:
        warns = one.template["type"].endswith("Warning") or (
            one.rank < len(errors) and errors[one.rank].role == "warning"
        )
        return (
            level[one.confidence],
            warns,
            one.rank >= reporters and bool(reporters),
            one.rank,
            -one.hit.literals,
            not one.typed,
        )

    return sorted(found, key=order)


def _confidence(hit: Hit, template: dict[str, Any], typed: bool, *, ended: bool) -> Confidence | None:
    """Tell how sure a match of this template is, or None when it has matched too little to say anything.

    What was matched of a part is measured by how much its words tell: `object has no attribute` stands in many messages.
    """
    tells: list[float] = template["tells"]
    if hit.whole and not template["tail"]:
        return "exact" if hit.literals >= 3 or typed else None
    told = sum(tells[: hit.literals])
    if told < _LEAST_TOLD:
        return None
    if hit.whole:
        return "exact" if told >= 2 * _LEAST_TOLD else "likely"
    if ended:
        return "exact" if told >= 2 * _LEAST_TOLD else "likely"
    return "likely" if told >= _PART * sum(tells) else None


def _drop_covered(found: list[_Found]) -> list[_Found]:
    """Leave out a match that lies inside a longer one of another template, or starts where a more specific one does."""
    kept: list[_Found] = []
    for one in sorted(found, key=lambda one: (-(one.hit.literals + one.hit.whole * 2), not one.typed)):
        if not any(other.hit.start <= one.hit.start and one.hit.end <= other.hit.end for other in kept):
            kept.append(one)
    return kept


def _matched(index: Index, view: View, tokens: Sequence[Token], one: _Found, lines: Sequence[str]) -> Match:
    head = index.head(one.entry)
    pieces = [Slot(*piece) if isinstance(piece, list) else piece for piece in one.template["pieces"]]
    captured = match(pieces, tokens, one.hit.start) if one.hit.whole else None
    values = captured[1] if captured else {}
    number = view.line(tokens[one.hit.start].start)
    explain = head["explain"] and {lang: _fill(line, values) for lang, line in head["explain"].items()}
    evidence = Evidence(
        line=lines[number - 1].strip()[:500],
        line_number=number,
        template=one.template["source"],
        values=values,
        explain=explain if explain and None not in explain.values() else None,
    )
    specific = one.hit.literals / (one.hit.literals + 2)
    score = round({"exact": 0.8, "likely": 0.6, "related": 0.3}[one.confidence] + 0.2 * specific, 4)
    return Match(head["id"], one.confidence, score, head["title"], evidence)


def _fill(line: str, values: dict[str, str]) -> str | None:
    """Return an explain line with the captured values in it: `{input}` as printed, `{input[1]}` its second number; None where one is missing."""
    parts, rest = [], line
    while rest:
        before, brace, rest = rest.partition("{")
        parts.append(before)
        if not brace:
            break
        name, _, rest = rest.partition("}")
        name, bracket, place = name.partition("[")
        if name not in values:
            return None
        value = values[name]
        if bracket:
            found = numbers(value)
            at = int(place.rstrip("]"))
            if not -len(found) <= at < len(found):
                return None
            value = str(found[at])
        parts.append(value)
    return "".join(parts)
