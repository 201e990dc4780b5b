"""Texts that say the same in other words are near each other, in and between the two languages."""

import math

import pytest

from kb.index.embeddings import DIMENSIONS, Similarity, shipped_rows
from kb.index.manager import open_index
from kb.text.analyzer import terms


@pytest.fixture(scope="module")
def embeddings():
    return open_index().embeddings


def embedded(embeddings, text):
    return embeddings.embed(dict.fromkeys(terms(text), 1.0))


def test_a_title_is_near_the_same_title_in_the_other_language(embeddings):
    titles = [open_index().summary(slug)["title"] for slug in open_index().slugs()[::5]]
    chinese = [embedded(embeddings, title["zh"]) for title in titles]
    near = 0
    for number, title in enumerate(titles):
        english = embedded(embeddings, title["en"])
        meanings = [english.similarity(other).meaning for other in chinese]
        near += sum(meaning > meanings[number] for meaning in meanings) < 5
    assert near > len(titles) / 2


def test_a_text_is_all_that_it_is_itself(embeddings):
    text = embedded(embeddings, "gradient accumulation changes the loss")
    assert text.similarity(text) == pytest.approx(Similarity(1.0, 1.0))


def test_unknown_words_are_like_nothing(embeddings):
    unknown = embedded(embeddings, "qwxyzzy")
    assert unknown.similarity(embedded(embeddings, "the process hangs")) == Similarity(0.0, 0.0)


def test_the_vectors_of_a_long_paste_are_those_of_its_weightiest_terms(embeddings):
    known = list(shipped_rows())
    text = embeddings.embed(dict.fromkeys(known, 1.0))
    assert 0 < len(text.weights) < len(known)
    assert math.hypot(*text.weights.values()) == pytest.approx(1.0)
    assert len(text.vector) == DIMENSIONS


def test_an_entry_is_near_its_own_title(embeddings):
    index = open_index()
    slugs = index.slugs()
    title = embedded(embeddings, index.summary("cuda-out-of-memory")["title"]["en"])
    by_terms = {slug: title.similarity(embeddings.entry(slug)).terms for slug in slugs}
    assert sorted(slugs, key=by_terms.__getitem__)[-10:].count("cuda-out-of-memory") == 1
