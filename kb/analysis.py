"""Text as terms to search for: code names whole and in parts, English stems, Chinese words, and the field's concepts in either language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from kb.chinese import concepts, cut, has_chinese, to_simplified
from kb.lexer import lex

__all__ = ["CALL", "CONCEPT", "as_written", "message_terms", "spellings", "terms"]

CONCEPT = "§"
"""A term that begins with this stands for a concept of `kb/data/terms.txt`, not for a word."""

CALL = "ƒ"
"""A term that begins with this is a function in a traceback."""

_GAP = 2
"""Other words that may stand between two of a concept's wording."""

_READ = 20_000
"""Characters searched for the words to show."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::)[A-Za-z_][A-Za-z0-9_]*)*|[0-9]+[a-zA-Z]+")
_CALLED = re.compile(rf"{CALL}\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+[a-z]?")
_STOP = frozenset(
    (
        "a an the and or but if of to in on at by for from with without into as is are was were be been being am it its this that these "
        "those there here i me my we our you your he she they them their do does did doing done have has had having can could will would "
        "shall should may might must not no nor so than then too very just also only own same such what which who whom how why when where "
        "while during about above below up down out off over under again further once all any both each few more most other some s t don "
        "don't doesn didn isn aren wasn won can't cannot get gets got getting give gives given try tried trying use uses used using want "
        "wants know please help thanks thank hi hello hey anyone someone somebody everyone thing things problem problems issue question "
        "think seem seems like way make makes made need needs say says tell see seen look looks find found let put set now still even "
        "however well much many lot one two first second after before because since until between through per via etc e g ie eg im ive dont "
        "cant doesnt self cls none true false return def print py python torch pytorch nn x y z n j k ok yes maybe sure really actually "
        "basically simply something anything nothing happen happens happened"
    ).split()
)


def terms(text: str) -> list[str]:
    """Return the terms of the text in order, with repetitions; a concept follows where one of its wordings stands."""
    found: list[str] = _CALLED.findall(text)
    stems: list[str] = []
    for word in _WORD.findall(text):
        found += _code_terms(word, stems)
    found += _english_concepts(stems)
    if has_chinese(text):
        simplified = to_simplified(text).lower()
        words = cut(simplified)
        found += words
        found += _chinese_concepts(simplified, words)
    return found


def message_terms(text: str) -> set[str]:
    """Return the stems of an error message's words: what varies (numbers, sizes, dtypes, devices, paths) is left out."""
    return {_stem(token.text) for token in lex(text) if token.type == "word" and len(token.text) > 1}


def spellings(text: str) -> dict[str, str]:
    """Return for the terms of the text, concepts aside, the first word that stands for each, as it is written."""
    written: dict[str, str] = {}
    for word in [*dict.fromkeys(_WORD.findall(text[:_READ])), *cut(to_simplified(text[:_READ]))]:
        for term in (*_code_terms(word, []), word.lower()):
            written.setdefault(term, word)
    return written


def as_written(written: Mapping[str, str], wanted: Sequence[str], most: int = 8) -> tuple[str, ...]:
    """Return the words of a text that stand for the wanted terms, in the order of those; `written` is the text's `spellings`.

    A word inside another that is returned is left out.
    """
    found: list[str] = []
    for word in dict.fromkeys(written[term] for term in wanted if term in written):
        if not any(word.lower() in other.lower() for other in found):
            found = [other for other in found if other.lower() not in word.lower()] + [word]
        if len(found) == most:
            break
    return tuple(found)


def _code_terms(word: str, stems: list[str]) -> Iterator[str]:
    """Yield the terms of one English word or name of code, and add its stems to `stems` for the concepts to be found in."""
    lowered = word.lower()
    parts = [part.lower() for part in _PART.findall(word)]
    whole = lowered.replace("::", ".")
    if parts and (len(parts) > 1 or "." in whole or "_" in whole):
        last = whole.rpartition(".")[2]
        yield last.replace("_", "") or last
        if last != whole and "." in whole:
            yield whole
    for part in parts:
        root = _stem(part)
        stems.append(root)
        if part not in _STOP and len(part) > 1:
            yield root


def _english_concepts(stems: list[str]) -> Iterator[str]:
    """Yield the concepts whose wordings stand in the text, in order, with up to `_GAP` other words between two of theirs."""
    table = _english()
    for at, first in enumerate(stems):
        for wording, name in table.get(first, ()):
            here = at + 1
            for stem in wording[1:]:
                window = stems[here : here + _GAP + 1]
                if stem not in window:
                    break
                here += window.index(stem) + 1
            else:
                yield name


def _chinese_concepts(text: str, words: list[str]) -> Iterator[str]:
    """Yield the concepts whose wordings stand in the text; a single character counts only where it is a word of its own."""
    table, lengths = _chinese()
    for word in words:
        if len(word) == 1 and word in table:
            yield from table[word]
    for at, letter in enumerate(text):
        for length in lengths.get(letter, ()):
            if length > 1 and (names := table.get(text[at : at + length])):
                yield from names
                break


@cache
def _english() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    table: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for concept in concepts():
        for wording in concept.en:
            stems = tuple(_stem(part.lower()) for word in _WORD.findall(wording) for part in _PART.findall(word))
            if stems:
                table.setdefault(stems[0], []).append((stems, CONCEPT + concept.name))
    return table


@cache
def _chinese() -> tuple[dict[str, list[str]], dict[str, list[int]]]:
    """Return the concepts by Chinese wording, and by first character the lengths of the wordings that begin with it, longest first."""
    table: dict[str, list[str]] = {}
    for concept in concepts():
        for wording in concept.zh:
            table.setdefault(wording, []).append(CONCEPT + concept.name)
    lengths: dict[str, set[int]] = {}
    for wording in table:
        lengths.setdefault(wording[0], set()).add(len(wording))
    return table, {letter: sorted(found, reverse=True) for letter, found in lengths.items()}


@cache
def _stem(word: str) -> str:
    return str(_stemmer()(word)) if len(word) > 3 else word


@cache
def _stemmer() -> Any:
    from whoosh.lang.porter import stem

    return stem
