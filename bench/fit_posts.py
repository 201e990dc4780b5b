"""Labelled posts as a look-up sees them, and queries whose answer is known by how they were made: what `bench fit` fits on."""

import contextlib
from collections import Counter, defaultdict
from functools import partial
from typing import NamedTuple

from kb.corpus.loader import load
from kb.record.provenance import sample_message
from kb.record.query import open_record
from kb.record.rows import with_slots
from kb.search.evaluation import NONE, right_entries
from kb.search.lookup import best_reading, is_settled
from kb.search.message_matching import best_ties, message_signals
from kb.search.query import make_query
from kb.search.ranking import compare_entries
from kb.search.reading import Reading
from kb.search.signals import Features
from kb.templates.template import TemplateError
from kb.text.languages import LANGUAGES

_UNANSWERED_SHARE = 1 / 5
"""The share of posts as they come that no entry answers: about that of all posts, counted by their labels alone. In `fit.jsonl` and `choose.jsonl` it is less,
because entries were written about the mistakes that they name; so posts without an answer count more here."""

_MADE_SHARE = 0.05
"""What all titles and aliases count together beside the posts, and what all messages of other packages do."""

_TYPED_STEP, _FOREIGN_STEP = 10, 100
_FOREIGN = ("pandas", "scikit-learn", "scipy")
_FOLDS = 5


class Post(NamedTuple):
    """A post, what was compared with it, and what is right.

    `level` is how a message answers it, empty where none does, `first` that message's entry, and `message` what `message_signals` says of it for an entry
    whose reliability is 0.
    """

    source: str
    reading: Reading
    compared: list[Features]
    right: set[str]
    level: str
    first: str
    weight: float
    message: dict[str, float]


def typed_queries():
    """Return titles and aliases of entries, which these entries answer."""
    typed = [
        (entry.id, text) for entry in load() for lang in LANGUAGES for text in (entry.title[lang], *entry.aliases[lang])
    ]
    return [{"text": text, "slug": slug, "source": slug} for slug, text in typed[1::_TYPED_STEP]]


def foreign_queries():
    """Return messages of packages that have nothing to do with PyTorch, which no entry answers."""
    queries = []
    for package in _FOREIGN:
        record = open_record(package)
        messages = sorted({template for _, template in record.templates()}) if record else []
        for number, template in enumerate(messages[::_FOREIGN_STEP]):
            error = ("ValueError", "TypeError", "AttributeError", "KeyError", "RuntimeError")[number % 5]
            with contextlib.suppress(TemplateError):
                text = f"{error}: {sample_message(f'{error}: {with_slots(template)}')}"
                queries.append({"text": text, "slug": NONE, "source": package})
    return queries


def answered_posts(posts) -> dict[str, Counter[str]]:
    """Return the number of posts that each entry answers, by source."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for post in posts:
        counts[post.source].update(post.right)
    return counts


def with_popularity(posts, counts) -> list[Post]:
    """Return the posts, the popularity of each entry counted without the posts of the same source, as those of a new source will find it."""
    total = sum(counts.values(), Counter())
    return [
        post._replace(
            compared=[
                features._replace(popularity=total[features.slug] - counts.get(post.source, Counter())[features.slug])
                for features in post.compared
            ]
        )
        for post in posts
    ]


def read_posts(index, queries, weight=1.0) -> list[Post]:
    """Return the posts as a look-up sees them."""
    posts = []
    for query in queries:
        reading, matches = best_reading(index, query["text"])
        query_terms = make_query(index, reading)
        level, first, message = "", "", {}
        if matches and (is_settled(reading, matches) or matches[0].confidence == "likely"):
            level = "likely" if reading.is_corrected else matches[0].confidence
            first = matches[0].slug
            signals = partial(message_signals, reading, lambda made=query_terms: made, matches[0])
            message = signals(0.0, best_ties(matches), is_alone=False)
        compared = [] if level else compare_entries(index, reading, query_terms)
        source = query.get("source", f"line {query.get('line')}").partition("#")[0]
        right = right_entries(index, query)
        posts.append(Post(source, reading, compared, right, level, first, weight, message))
    return posts


def as_they_come(posts) -> list[Post]:
    """Return the posts, those without an answer weighted so that they are as frequent as among new posts."""
    unanswered = sum(not post.right for post in posts)
    factor = _UNANSWERED_SHARE / (1 - _UNANSWERED_SHARE) * (len(posts) - unanswered) / unanswered
    return [post if post.right else post._replace(weight=factor) for post in posts]


def made_posts(index, count) -> list[Post]:
    """Return the queries whose answer is known by how they were made, beside `count` posts."""
    groups = (typed_queries(), foreign_queries())
    return [post for group in groups for post in read_posts(index, group, _MADE_SHARE * count / len(group))]


def folds(posts):
    """Yield each fifth of the posts after all others, the posts of a source together."""
    sources = sorted({post.source for post in posts})
    numbers = {source: number % _FOLDS for number, source in enumerate(sources)}
    for fold in range(_FOLDS):
        others = [post for post in posts if numbers[post.source] != fold]
        yield others, [post for post in posts if numbers[post.source] == fold]
