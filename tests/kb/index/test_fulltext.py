"""Words find entries: code names in parts, both languages, concepts, misspelt words; the rarest terms are asked."""

import pytest

from kb.index.manager import open_index
from kb.index.spelling import TABLES, Speller, count_words
from kb.index.storage import WriteBuffer
from kb.index.term_vectors import Phrase
from kb.text.analyzer import CONCEPT, as_written, message_terms, spellings, terms
from tests.kb.entries_to_find import write_entry


def test_the_plural_of_an_abbreviation_is_its_singular():
    assert terms("GPUs") == terms("GPU")


def test_code_names_are_found_whole_and_in_parts():
    found = terms("CrossEntropyLoss num_batches_tracked torch.cuda.FloatTensor")
    assert {"crossentropyloss", "cross", "entropi", "loss"} <= set(found)
    assert {"numbatchestrack", "num", "batch", "track"} <= set(found)
    assert {"torch.cuda.floattensor", "floattensor", "cuda", "tensor"} <= set(found)


def test_a_word_that_tells_nothing_is_left_out_however_it_is_written():
    assert terms("PyTorch") == terms("pytorch") == []
    assert terms("PyTorch Lightning") == terms("pytorch lightning")


def test_a_concept_is_the_same_in_both_languages_and_scripts():
    concept = CONCEPT + "gpu_memory"
    assert concept in terms("the GPU memory")
    assert concept in terms("vram is full")
    assert concept in terms("显存满了")
    assert concept in terms("顯存滿了")


def test_a_concepts_wording_may_have_words_in_between():
    assert CONCEPT + "learning_rate" in terms("learning the rate")
    assert CONCEPT + "learning_rate" not in terms("rate of learning")


def test_a_messages_words_are_those_that_do_not_vary():
    assert message_terms("size [3, 4] of tensor 0 on cuda:1 is 20 MiB") == {"size", "of", "tensor", "on", "is"}


def test_words_are_shown_as_they_are_written_and_once():
    text = "My CrossEntropyLoss is wrong, entropy too, and 训练 fails"
    assert as_written(spellings(text), ["entropi", "crossentropyloss", "训练"]) == ("CrossEntropyLoss", "训练")


@pytest.fixture
def speller():
    buffer = WriteBuffer(TABLES)
    count_words(buffer, dict.fromkeys(["deserialize", "tensor", "dimension", "to", "size"], 1))
    count_words(buffer, {"banama": 1})
    count_words(buffer, {"banama": 1}, -1)
    return Speller(buffer)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("tensr", ["tensor"]),
        ("tensoor", ["tensor"]),
        ("tenzor", ["tensor"]),
        ("tesnor", ["tensor"]),
        ("dimnsionn", ["dimension"]),
        ("todeserialize", ["to", "deserialize"]),
        ("tensor", []),
        ("banana", []),
        ("siz", []),
    ],
)
def test_misspelt_words_are_corrected_and_others_left_alone(speller, wrong, right):
    assert speller.correct(wrong) == right


@pytest.fixture
def index(tmp_path):
    folder = tmp_path / "entries"
    write_entry(folder, "memory-grows", alias_en="memory grows each iteration", alias_zh="显存一直涨")
    write_entry(folder, "frozen-layers", alias_en="frozen layers still train", alias_zh="冻结的层还在更新")
    write_entry(folder, "wrong-seed", alias_en="different results with the same seed", alias_zh="固定种子结果还是不同")
    return open_index([folder], cache=tmp_path / "cache")


def search(index, text):
    return [candidate.slug for candidate in index.fulltext.search(dict.fromkeys(terms(text), 1.0), 5)]


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("my memory is growing with every iteration", "memory-grows"),
        ("为什么显存越来越大", "memory-grows"),
        ("layers I froze are still training", "frozen-layers"),
        ("設定了隨機種子，結果不同", "wrong-seed"),
    ],
)
def test_entries_are_found_by_what_people_say(index, text, slug):
    assert search(index, text)[0] == slug


def test_words_that_no_entry_has_find_nothing(index):
    assert search(index, "xylophone") == []
    assert index.fulltext.search({}, 5) == []


def test_what_is_kept_of_earlier_queries_changes_no_answer(index):
    texts = ["layers I froze are still training", "为什么显存越来越大", "layers"]
    first = [search(index, text) for text in texts]
    assert all(first)
    assert [search(index, text) for text in texts] == first


def test_of_a_phrase_counts_what_stands_in_the_paste():
    information = {"nan": 6**0.5, "loss": 0.0}.__getitem__
    fields = {"title": ["loss", "nan"], "message": [], "alias": ["nan"]}
    phrases = [Phrase(field, words, information) for field, words in fields.items()]
    weights = {"nan": 3.0, "loss": 1.0, "other": 5.0}
    assert [phrase.overlap(weights) for phrase in phrases] == pytest.approx([1.0, 0.0, 0.75])


def test_a_query_is_never_parsed(index):
    assert search(index, "*args (((( a AND OR NOT title:x ~ ^ [* TO *]") == []
