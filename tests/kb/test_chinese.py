"""Chinese text becomes words of the field, Traditional like Simplified."""

import pytest

from kb.chinese import concepts, cut, to_simplified


def test_the_fields_own_words_stay_whole():
    assert "爆显存" in cut("训练时爆显存了")
    assert "梯度裁剪" in cut("梯度裁剪不起作用")


def test_traditional_characters_and_words_become_mainland_ones():
    assert to_simplified("記憶體不足") == "内存不足"
    assert to_simplified("張量維度") == "张量维度"


def test_simplified_text_is_left_alone():
    assert to_simplified("怎么通道数不对") == "怎么通道数不对"


def test_words_that_tell_nothing_are_left_out():
    assert cut("请问这个是怎么回事呢") == []


def test_rjieba_cuts_as_jieba_does(monkeypatch, tmp_path):
    import jieba

    from kb.chinese import _EMPTY, _FREQUENCY, _HAN_RUN
    from kb.corpus import load

    monkeypatch.setattr(jieba.dt, "tmp_dir", str(tmp_path))

    for concept in concepts():
        for word in concept.zh:
            if _HAN_RUN.fullmatch(word):
                jieba.add_word(word, _FREQUENCY)
    for entry in load():
        for text in (entry.title.zh, *entry.aliases["zh"]):
            expected = [w for run in _HAN_RUN.findall(text) for w in jieba.cut_for_search(run) if w not in _EMPTY]
            assert sorted(cut(text)) == sorted(expected), text


def test_the_terms_file_names_each_concept_once_and_in_both_languages():
    names = [concept.name for concept in concepts()]
    assert len(names) == len(set(names))
    assert all(concept.en and concept.zh for concept in concepts())


@pytest.mark.parametrize("text", ["", "abc", "。。。", "\ud800", "𠀀𠀁"])
def test_odd_text_does_no_harm(text):
    cut(to_simplified(text))
