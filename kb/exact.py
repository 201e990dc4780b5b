"""Answer by messages: the templates that stand in a paste, what causes before what reports, the most specific first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kb.clean import View
from kb.index import Index
from kb.lazy import pattern
from kb.lexer import Token, numbers
from kb.paste import Spotted
from kb.pattern import Slot, match
from kb.result import Confidence, Evidence, Match
from kb.trie import Hit

__all__ = ["error_at", "fill", "matches_by_message"]

_LEAST_TOLD = 10.0
"""How much, in nats, the words of a part of a template must tell for the part to count: as four words rare in messages."""

_PART = 0.7
"""The share of a template that must be there, by what its words tell, where the message goes on in other words."""

_SENTENCE_END = pattern(r"['\"`)]?(?:[.!?]\s|[。！？])")

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
    for one in _judged(index, view, tokens, errors):
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


def _judged(index: Index, view: View, tokens: Sequence[Token], errors: Sequence[Spotted]) -> list[_Found]:
    """Return the templates that match, best first; those that nothing in the message tells apart by what the paste says."""
    found = []
    for hit in index.trie.find(tokens):
        template = index.template(hit.template)
        type_ = template["type"].lower()
        typed = bool(type_) and hit.start > 0 and tokens[hit.start - 1].text.rpartition(".")[2] == type_
        rank = error_at(view, errors, tokens[hit.start].start)
        error = errors[rank] if rank < len(errors) else None
        ended = hit.end == len(tokens) or (error is not None and _is_all_of_it(view, tokens, hit, error))
        confidence = _confidence(hit, template, typed, ended=ended)
        if (
            error is not None
            and not (hit.whole and not template["tail"])
            and _is_of_another(view, tokens, hit, error, type_)
        ):
            confidence = None
        if template["bare"]:
            confidence = "likely" if rank < len(errors) and errors[rank].start == tokens[hit.start].start else None
        if confidence:
            found.append(_Found(hit, index.owners[hit.template], rank, typed, template, confidence))
    causes = sum(error.role == "error" for error in errors)

    def order(one: _Found) -> tuple[Any, ...]:
        aside = bool(causes) and causes <= one.rank < len(errors)
        warns = one.template["type"].endswith("Warning")
        return _LEVEL[one.confidence], aside, warns, one.rank, -sum(one.template["tells"]), not one.typed

    def place(one: _Found) -> tuple[Any, ...]:
        return *order(one), index.slug(one.entry), one.hit.start, one.hit.template

    ordered = sorted(_not_covered(found), key=place)
    tied = [one for one in ordered if order(one) == order(ordered[0])]
    if len({one.entry for one in tied}) > 1:
        from kb.guess import closest

        likeness = closest(index, view, errors, [one.entry for one in tied], tied[0].template["source"])
        tied.sort(key=lambda one: -round(likeness[one.entry], 9))
    return [*tied, *ordered[len(tied) :]]


def error_at(view: View, errors: Sequence[Spotted], offset: int) -> int:
    """Return the place, in the order of causes, of the error in whose text the offset is; their number where none is.

    A line that raises an error, as it stands in a frame, is part of no error's text.
    """
    if view.text.startswith("raise ", _line_start(view.text, offset)):
        return len(errors)
    before = [(error.start, rank) for rank, error in enumerate(errors) if error.start <= offset]
    return max(before)[1] if before else len(errors)


def _line_start(text: str, offset: int) -> int:
    """Return where the line of the offset begins, behind its indentation."""
    start = text.rfind("\n", 0, offset) + 1
    return offset - len(text[start:offset].lstrip())


def _is_of_another(view: View, tokens: Sequence[Token], hit: Hit, error: Spotted, type_: str) -> bool:
    """Tell whether a part of a template stands in an error that says something else: of another type, or in its middle.

    `list index out of range` is no beginning of `index out of range in self`. What stands on a line of its own, below a
    warning say, is another matter.
    """
    if "\n" in view.text[error.message_start : tokens[hit.start].start].strip():
        return False
    if type_ and error.type and error.type.rpartition(".")[2].lower() != type_:
        return True
    return hit.whole is False and bool(_before(view, tokens, hit, error))


def _before(view: View, tokens: Sequence[Token], hit: Hit, error: Spotted) -> str:
    """Return what the error's message says before the hit."""
    return view.text[error.message_start : tokens[hit.start].start].strip(" '\"`([{:")


def _is_all_of_it(view: View, tokens: Sequence[Token], hit: Hit, error: Spotted) -> bool:
    """Tell whether the hit is the error's message from its first word to the end of its line, or of a sentence: people quote the first one."""
    line_end = view.text.find("\n", error.message_start) % (len(view.text) + 1)
    ends = tokens[hit.end].start > line_end or _SENTENCE_END.match(view.text, tokens[hit.end - 1].end)
    return not _before(view, tokens, hit, error) and bool(ends)


def _confidence(hit: Hit, template: dict[str, Any], typed: bool, *, ended: bool) -> Confidence | None:
    """Tell how sure a match of this template is, or None when it has matched too little to say anything.

    What was matched of a part is measured by how much its words tell: `object has no attribute` stands in many messages.
    `ended` says that the paste, or the error's message in it, ends where the template was left.
    """
    tells: list[float] = template["tells"]
    if hit.whole and not template["tail"]:
        return "exact" if hit.literals >= 3 or typed else None
    told = sum(tells[: hit.literals])
    if ended and not template["tail"]:
        return "exact" if told >= _LEAST_TOLD else "likely" if 2 * told >= _LEAST_TOLD else None
    if told < _LEAST_TOLD:
        return None
    if hit.whole:
        return "exact" if told >= 2 * _LEAST_TOLD else "likely"
    return "likely" if told >= max(2.5 * _LEAST_TOLD, _PART * sum(tells)) else None


def _not_covered(found: list[_Found]) -> list[_Found]:
    """Leave out a match that lies inside a longer one, or that a more specific one starts with; keep two that are alike."""
    kept: list[_Found] = []
    for one in sorted(found, key=_before_others):
        covering = [other for other in kept if other.hit.start <= one.hit.start and one.hit.end <= other.hit.end]
        if all(_specific(other) == _specific(one) and other.entry != one.entry for other in covering):
            kept.append(one)
    return kept


def _around(line: str, words: str) -> str:
    """Return a line; of one that is too long to read, the part in which those words stand."""
    at = line.find(words)
    return line[:500] if len(line) <= 500 or at < 300 else "… " + line[at - 100 : at + 398]


def _before_others(one: _Found) -> tuple[int, ...]:
    """Sort what is more specific first; of an entry's own what stands first, then what it has first."""
    literals, typed = _specific(one)
    return -literals, -typed, one.hit.start, -one.hit.end, one.hit.template


def _specific(one: _Found) -> tuple[int, bool]:
    return one.hit.literals + 2 * one.hit.whole, one.typed


def _matched(index: Index, view: View, tokens: Sequence[Token], one: _Found, lines: Sequence[str]) -> Match:
    head = index.head(one.entry)
    pieces = [Slot(*piece) if isinstance(piece, list) else piece for piece in one.template["pieces"]]
    captured = match(pieces, tokens, one.hit.start) if one.hit.whole else None
    values = captured[1] if captured else {}
    number = view.line(tokens[one.hit.start].start)
    explain = {lang: fill(line, values) for lang, line in (head["explain"] or {}).items()}
    begin = tokens[one.hit.start].start
    evidence = Evidence(
        line=_around(lines[number - 1].strip(), view.text[begin : begin + 20]),
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
