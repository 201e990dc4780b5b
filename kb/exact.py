"""Answer by messages: the templates that stand in a paste, what causes before what reports, the most specific first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kb.clean import View
from kb.index import Index
from kb.lexer import Token, numbers
from kb.paste import Spotted
from kb.pattern import Slot, match
from kb.result import Confidence, Evidence, Match
from kb.trie import Hit

__all__ = ["fill", "matches_by_message"]

_LEAST_TOLD = 10.0
"""How much, in nats, the words of a part of a template must tell for the part to count: as four words rare in messages."""

_PART = 0.6
"""The share of a template that must be there, by what its words tell, where the message goes on in other words."""

_LEVEL: dict[Confidence, int] = {"exact": 0, "likely": 1, "related": 2}
_SCORE: dict[Confidence, float] = {"exact": 0.8, "likely": 0.6, "related": 0.3}


class _Found(NamedTuple):
    """A template that matched, and the error it belongs to: its place in the order of causes, its number where none."""

    hit: Hit
    entry: int
    rank: int
    typed: bool
    template: dict[str, Any]
    confidence: Confidence


def matches_by_message(
    index: Index, view: View, tokens: Sequence[Token], errors: Sequence[Spotted], pasted: str
) -> list[Match]:
    """Return a match for each entry whose messages stand among the tokens, which are those of the view.

    A match belongs to the error in which it stands. When errors were found and the match stands in a mere warning, or in
    what reports an error that is there itself, it comes after the others.
    """
    lines = pasted.split("\n")
    matches: dict[int, Match] = {}
    for one in _judged(index, tokens, errors):
        if one.entry not in matches:
            matches[one.entry] = _matched(index, view, tokens, one, lines)
    return list(matches.values())


def fill(line: str, values: dict[str, str]) -> str | None:
    """Return an explain line with the captured values in it: `{input}` as printed, `{input[1]}` its second number.

    None where a name was not captured or has no such number.
    """
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
            found, at = numbers(value), place.rstrip("]")
            if not at.lstrip("-").isdigit() or not -len(found) <= int(at) < len(found):
                return None
            value = str(found[int(at)])
        parts.append(value)
    return "".join(parts)


def _judged(index: Index, tokens: Sequence[Token], errors: Sequence[Spotted]) -> list[_Found]:
    """Return the templates that match, best first."""
    places = sorted((error.start, rank) for rank, error in enumerate(errors))
    found = []
    for hit in index.trie.find(tokens):
        template = index.template(hit.template)
        type_ = template["type"].lower()
        typed = bool(type_) and hit.start > 0 and tokens[hit.start - 1].text.rpartition(".")[2] == type_
        confidence = _confidence(hit, template, typed, ended=hit.end == len(tokens))
        if confidence:
            rank = len(errors)
            for start, number in places:
                if start <= tokens[hit.start].start:
                    rank = number
            found.append(_Found(hit, index.owners[hit.template], rank, typed, template, confidence))
    causes = sum(error.role == "error" for error in errors)

    def order(one: _Found) -> tuple[Any, ...]:
        aside = bool(causes) and causes <= one.rank < len(errors)
        warns = one.template["type"].endswith("Warning")
        return _LEVEL[one.confidence], aside, warns, one.rank, -sum(one.template["tells"]), not one.typed

    return sorted(_not_covered(found), key=order)


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
    if hit.whole or ended:
        return "exact" if told >= 2 * _LEAST_TOLD else "likely"
    return "likely" if told >= _PART * sum(tells) else None


def _not_covered(found: list[_Found]) -> list[_Found]:
    """Leave out a match that lies inside a longer one of another template, or starts where a more specific one does."""
    kept: list[_Found] = []
    for one in sorted(found, key=lambda one: (-(one.hit.literals + 2 * one.hit.whole), not one.typed)):
        if not any(other.hit.start <= one.hit.start and one.hit.end <= other.hit.end for other in kept):
            kept.append(one)
    return kept


def _matched(index: Index, view: View, tokens: Sequence[Token], one: _Found, lines: Sequence[str]) -> Match:
    head = index.head(one.entry)
    pieces = [Slot(*piece) if isinstance(piece, list) else piece for piece in one.template["pieces"]]
    captured = match(pieces, tokens, one.hit.start) if one.hit.whole else None
    values = captured[1] if captured else {}
    number = view.line(tokens[one.hit.start].start)
    explain = {lang: fill(line, values) for lang, line in (head["explain"] or {}).items()}
    evidence = Evidence(
        line=lines[number - 1].strip()[:500],
        line_number=number,
        template=one.template["source"],
        values=values,
        explain={lang: line for lang, line in explain.items() if line}
        if explain and None not in explain.values()
        else None,
    )
    specific = one.hit.literals / (one.hit.literals + 2)
    score = round(_SCORE[one.confidence] + 0.2 * specific, 4)
    return Match(head["id"], one.confidence, score, head["title"], evidence)
