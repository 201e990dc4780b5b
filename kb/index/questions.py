"""Texts that, typed as a whole, say which entry is meant: titles and aliases, with or without words that say nothing, and messages without their values.

Who searches for a message often takes out what is his own: *The size of tensor a must match the size of tensor b at non-singleton dimension*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kb.index.storage import Store, WriteBuffer
from kb.startup.lazy_regex import lazy_pattern
from kb.text.lexer import Token, lex
from kb.text.normalize import normalize
from kb.text.scripts import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.corpus.entry import Entry

__all__ = ["TABLES", "count_questions", "find_question", "questions"]

TABLES = ("questions",)

_FILLERS = frozenset(
    (
        "a an the my your our i we you it is are was be do does did how can could should to in on at of for with "
        "please use using get getting fix solve error issue problem pytorch torch python"
    ).split()
)
"""Words by which two wordings of a question may differ: *save and load model pytorch*, *how do I save and load a model*. Negations are none of them."""

_CHINESE_FILLERS = (
    "请问",
    "怎么样",
    "怎么办",
    "怎么解决",
    "如何解决",
    "怎么",
    "怎样",
    "如何",
    "报错",
    "的",
    "了",
    "吗",
    "呢",
)
_MIN_LENGTH = 8
"""The number of characters that are left without fillers at least, a Chinese one counting as two: `gpu` alone asks nothing."""

_VALUE = lazy_pattern(r"['\"`(\[]?\{[^{}]*\}['\"`)\]]?")
"""A placeholder of a message with its quotes or brackets."""

_MIN_MESSAGE = 5
"""The number of tokens that a message without its values has at least: fewer may say anything."""

_MAX_TOKENS = 60
"""The number of tokens beyond which a text is none of these."""


def questions(entry: Entry) -> list[str]:
    """Return the keys of an entry's titles, aliases and messages."""
    from kb.index.term_vectors import entry_texts

    texts = [text for field, text in entry_texts(entry) if field in ("title", "alias")]
    keys = {_key(lex(normalize(text).text)) for text in texts}
    for message in entry.messages:
        if not message.is_generic and not message.files and _VALUE.search(message.text):
            whole = lex(_VALUE.sub(" ", message.text))
            body = lex(_VALUE.sub(" ", message.text.partition(": ")[2]))
            keys.update(_key(tokens) for tokens in (whole, body) if len(tokens) >= _MIN_MESSAGE)
    return sorted(keys)


def count_questions(buffer: WriteBuffer, slug: str, keys: Iterable[str], step: int = 1) -> None:
    """Add the questions of one entry to the index, or remove them (`step` is -1)."""
    for key in keys:
        buffer.count("questions", key, step, slug)


def find_question(store: Store, tokens: Sequence[Token]) -> str:
    """Return the slug of the one entry of which the whole text is a title, an alias or a message without its values, or the empty string."""
    slugs = list(store.get("questions", _key(tokens)) or ()) if 0 < len(tokens) <= _MAX_TOKENS else []
    return slugs[0] if len(slugs) == 1 else ""


def _key(tokens: Sequence[Token]) -> str:
    words = list(filter(None, map(_without_fillers, tokens)))
    if sum(map(columns, words)) < _MIN_LENGTH:
        words = [token.text for token in tokens]
    return " ".join(words)


def _without_fillers(token: Token) -> str:
    """Return the word without what says nothing; a run of Chinese is one word."""
    word = token.text
    if token.type != "cjk":
        return "" if word in _FILLERS else word
    for filler in _CHINESE_FILLERS:
        word = word.replace(filler, "")
    return word
