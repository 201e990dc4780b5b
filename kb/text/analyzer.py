"""Turn text into search terms: names of code whole and in parts, English stems, Chinese words, and concepts that both languages share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from kb.text.chinese import concepts, cut, to_simplified
from kb.text.lexer import lex
from kb.text.scripts import has_han

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CALL", "CONCEPT", "as_written", "cached_terms", "called_functions", "message_terms", "spellings", "terms"]

CONCEPT = "§"
"""First character of a term that stands for a concept of `kb/text/data/synonyms.txt`, not for a word."""

CALL = "ƒ"
"""First character of a term that stands for a function in a traceback."""

_GAP = 2
"""Maximum number of other words between two words of a concept's wording."""

_MAX_CHARS = 20_000
"""Maximum number of characters that are searched for the spellings of terms."""

_MAX_CACHED_TEXTS = 128
"""The number of texts whose terms `cached_terms` keeps."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+(?>(?:(?:\.|::)[A-Za-z_][A-Za-z0-9_]*+)*)|(?<![0-9])[0-9]++[a-zA-Z]++")
_FUNCTION = re.compile(r"File \"[^\"\n]{1,400}\", line \d{1,9}, in (\w++)")
_CALLED = re.compile(rf"{CALL}\w++")
_PART = re.compile(r"[A-Z]{2,200}s(?![a-z])|[A-Z]{1,200}(?![a-z])|[A-Z]?[a-z]++|[0-9]++[a-z]?")
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
    """Return the terms of the text in order, with repetitions, and the concepts whose wordings occur in it."""
    term_list: list[str] = _CALLED.findall(text)
    stems: list[str] = []
    for word in _WORD.findall(text):
        term_list += _code_terms(word, stems)
    term_list += _english_concepts(stems)
    if has_han(text):
        simplified = to_simplified(text).lower()
        words = cut(simplified)
        term_list += words
        term_list += _chinese_concepts(simplified, words)
    return term_list


cached_terms = lru_cache(_MAX_CACHED_TEXTS)(terms)
"""`terms` for who builds an index, which asks several times for those of an entry's titles and aliases. The result is not to be changed."""


def called_functions(text: str) -> str:
    """Return the functions in the frames of a traceback as terms, which remain if the paste lacks the error itself."""
    return " ".join(CALL + name for name in dict.fromkeys(_FUNCTION.findall(text)))


def message_terms(text: str) -> set[str]:
    """Return the stems of an error message's words. Values (numbers, sizes, dtypes, devices, paths) are left out."""
    return {_stem(token.text) for token in lex(text) if token.type == "word" and len(token.text) > 1}


def spellings(text: str) -> dict[str, str]:
    """Return for each term of the text, without concepts, the first word that produced it, as written."""
    word_by_term: dict[str, str] = {}
    for word in [*dict.fromkeys(_WORD.findall(text[:_MAX_CHARS])), *cut(to_simplified(text[:_MAX_CHARS]))]:
        for term in (*_code_terms(word, []), word.lower()):
            word_by_term.setdefault(term, word)
    return word_by_term


def as_written(word_by_term: Mapping[str, str], wanted: Sequence[str], most: int = 8) -> tuple[str, ...]:
    """Return at most `most` words for the wanted terms, in the order of the terms; `word_by_term` comes from `spellings`.

    A word inside another one that is returned is left out.
    """
    shown: list[str] = []
    for word in dict.fromkeys(word_by_term[term] for term in wanted if term in word_by_term):
        if not any(word.lower() in longer.lower() for longer in shown):
            shown = [shorter for shorter in shown if shorter.lower() not in word.lower()] + [word]
        if len(shown) == most:
            break
    return tuple(shown)


def _code_terms(word: str, stems: list[str]) -> Iterator[str]:
    """Yield the terms of one English word or name of code, and append its stems to `stems`, in which concepts are looked for."""
    lowered = word.lower()
    parts = [part.lower() for part in _PART.findall(word)]
    whole = lowered.replace("::", ".")
    if parts and (len(parts) > 1 or "." in whole or "_" in whole):
        last = whole.rpartition(".")[2]
        if last not in _STOP:  # PyTorch has two parts
            yield _stem(last.replace("_", "")) or last
        if last != whole and "." in whole:
            yield whole
    for part in parts:
        root = _stem(part)
        stems.append(root)
        if part not in _STOP and len(part) > 1:
            yield root


def _english_concepts(stems: list[str]) -> Iterator[str]:
    """Yield the concepts whose wordings occur in the text, in order, with at most `_GAP` other words between two of a wording."""
    for start, first in enumerate(stems):
        for wording, name in _english(first[:2]).get(first, ()):
            position = start + 1
            for stem in wording[1:]:
                window = stems[position : position + _GAP + 1]
                if stem not in window:
                    break
                position += window.index(stem) + 1
            else:
                yield name


def _chinese_concepts(text: str, words: list[str]) -> Iterator[str]:
    """Yield the concepts whose wordings occur in the text. A wording of one character has to be a word of its own."""
    table, lengths = _chinese()
    for word in words:
        if len(word) == 1 and word in table:
            yield from table[word]
    for start, character in enumerate(text):
        for length in lengths.get(character, ()):
            if length > 1 and (names := table.get(text[start : start + length])):
                yield from names
                break


@cache
def _english(start: str) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Return the concepts by the first stems of their wordings, of those that begin with these two letters: stems of all would take 4 ms."""
    table: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for wording, name in _english_wordings().get(start, ()):
        stems = tuple(_stem(part.lower()) for word in _WORD.findall(wording) for part in _PART.findall(word))
        table.setdefault(stems[0], []).append((stems, CONCEPT + name))
    return table


@cache
def _english_wordings() -> dict[str, list[tuple[str, str]]]:
    """Return the wordings with the names of their concepts, by the first two letters of the first word, which its stem has too."""
    wordings: dict[str, list[tuple[str, str]]] = {}
    for concept in concepts():
        for wording in concept.en:
            start = wording[:2]
            if not (start.isalpha() and start.islower()):
                start = _PART.findall(wording)[0][:2].lower()
            wordings.setdefault(start, []).append((wording, concept.name))
    return wordings


@cache
def _chinese() -> tuple[dict[str, list[str]], dict[str, list[int]]]:
    """Return the concepts by wording, and the lengths of the wordings by their first character, longest first."""
    table: dict[str, list[str]] = {}
    for concept in concepts():
        for wording in concept.zh:
            table.setdefault(wording, []).append(CONCEPT + concept.name)
    lengths: dict[str, set[int]] = {}
    for wording in table:
        lengths.setdefault(wording[0], set()).add(len(wording))
    return table, {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}


@cache
def _stem(word: str) -> str:
    return str(_stemmer()(word)) if len(word) > 3 else word


@cache
def _stemmer() -> Any:
    from whoosh.lang.porter import stem

    return stem
