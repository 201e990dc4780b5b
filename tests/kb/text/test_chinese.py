"""Chinese text becomes words of the field, Traditional like Simplified."""

import logging
import os
import re
import subprocess
import sys

import jieba
import pytest

from kb.index.term_vectors import entry_texts
from kb.text import chinese
from kb.text.analyzer import terms
from kb.text.chinese import concepts, cut, to_simplified
from kb.text.scripts import HAN, is_han


def test_the_fields_own_words_stay_whole():
    assert "爆显存" in cut("训练时爆显存了")
    assert "梯度裁剪" in cut("梯度裁剪不起作用")


def test_traditional_characters_and_words_become_mainland_ones():
    assert to_simplified("記憶體不足") == "内存不足"
    assert to_simplified("張量維度") == "张量维度"


def test_simplified_text_is_left_alone():
    assert to_simplified("怎么通道数不对") == "怎么通道数不对"


def test_stop_words_are_left_out():
    assert cut("请问这个是怎么回事呢") == []


@pytest.fixture(scope="module")
def whole_jieba(tmp_path_factory):
    """jieba with its whole dictionary in memory, and the field's words added as its documentation says."""
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    tokenizer.tmp_dir = str(tmp_path_factory.mktemp("jieba"))
    tokenizer.initialize()
    for word in {word for concept in concepts() for word in concept.zh if all(map(is_han, word))}:
        tokenizer.add_word(word, 20_000)
    return tokenizer


@pytest.mark.slow
def test_words_read_one_by_one_are_cut_as_by_a_jieba_that_read_all(corpus, whole_jieba):
    runs = {run for entry in corpus for _, text in entry_texts(entry) for run in re.findall(f"[{HAN}]+", text)}
    assert len(runs) > 10_000
    cut_by_jieba = {
        run: [word for word in whole_jieba.cut_for_search(run) if word not in chinese._STOP_WORDS] for run in runs
    }
    assert {run: cut(run) for run in runs} == cut_by_jieba


@pytest.mark.slow
def test_every_word_of_the_dictionary_is_found_under_its_first_character(whole_jieba):
    characters = {word[0] for word in whole_jieba.FREQ if is_han(word[0])}
    cut("".join(sorted(characters)))
    read = chinese._tokenizer()
    known = {word: count for word, count in read.FREQ.items() if all(map(is_han, word))}
    assert known == {word: count for word, count in whole_jieba.FREQ.items() if all(map(is_han, word))}
    assert read.total == whole_jieba.total


def test_jieba_is_imported_without_a_look_at_every_package(tmp_path):
    (tmp_path / "pkg_resources.py").write_text("raise SystemExit('imported')")
    program = "from kb.text.chinese import cut\nprint(*cut('显存'))\nimport pkg_resources\n"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment, encoding="utf-8"
    )
    assert (done.stdout.split(), done.stderr.strip()) == (["显存"], "imported")


def test_the_terms_file_names_each_concept_once_and_in_both_languages():
    names = [concept.name for concept in concepts()]
    assert len(names) == len(set(names))
    wordings = [wording for concept in concepts() for wording in (*concept.en, *concept.zh)]
    assert all(wording and wording == wording.strip() and ";" not in wording for wording in wordings)


def test_every_english_wording_is_found():
    lost = [
        (concept.name, wording)
        for concept in concepts()
        for wording in concept.en
        if f"§{concept.name}" not in terms(wording)
    ]
    assert lost == []


@pytest.mark.parametrize("text", ["", "abc", "。。。", "\ud800", "𠀀𠀁"])
def test_odd_text_does_no_harm(text):
    cut(to_simplified(text))
