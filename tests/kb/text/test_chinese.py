"""Chinese text becomes words of the field, Traditional like Simplified."""

import pytest

from kb.index.term_vectors import entry_texts
from kb.text import chinese
from kb.text.chinese import concepts, cut, to_simplified


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


@pytest.mark.slow
def test_rjieba_cuts_as_jieba_does(corpus, monkeypatch, tmp_path):
    texts = [text for entry in corpus for _, text in entry_texts(entry)]
    monkeypatch.setattr(chinese, "_segmenters", [])
    by_rjieba = [sorted(cut(text)) for text in texts]
    chinese.use_jieba(str(tmp_path))
    assert [sorted(cut(text)) for text in texts] == by_rjieba


def test_an_index_built_twice_in_one_process_is_cut_in_the_same_way(monkeypatch, tmp_path):
    monkeypatch.setattr(chinese, "_segmenters", [])
    texts = ["conda 装完以后导入报错", "走错网卡", "显存一直涨"]
    chinese.use_jieba(str(tmp_path))
    first = [cut(text) for text in texts]
    chinese.use_jieba(str(tmp_path))
    assert [cut(text) for text in texts] == first


def test_the_terms_file_names_each_concept_once_and_in_both_languages():
    names = [concept.name for concept in concepts()]
    assert len(names) == len(set(names))
    assert all(concept.en and concept.zh for concept in concepts())


@pytest.mark.parametrize("text", ["", "abc", "。。。", "\ud800", "𠀀𠀁"])
def test_odd_text_does_no_harm(text):
    cut(to_simplified(text))
