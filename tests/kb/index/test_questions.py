"""A text that is a title or alias as a whole leads to its entry, unless two entries have it."""

from kb.index.manager import open_index
from kb.text.lexer import lex
from tests.kb.entries_to_find import write_entry


def test_a_question_that_two_entries_ask_is_no_whole_question(tmp_path):
    for slug in ("first", "second"):
        write_entry(tmp_path / "entries", slug, alias_en="what is the shape of it", alias_zh=f"它是什么形状 {slug}")
    index = open_index([tmp_path / "entries"], cache=tmp_path / "cache")
    assert index.asked(lex("what is the shape of it?")) == ""
    assert index.asked(lex("它是什么形状 second?")) == "second"
    assert index.asked([]) == ""


def test_words_that_say_nothing_do_not_count_and_negations_do(tmp_path):
    write_entry(tmp_path / "entries", "first", alias_en="how to save a model in PyTorch", alias_zh="怎么保存模型")
    index = open_index([tmp_path / "entries"], cache=tmp_path / "cache")
    assert index.asked(lex("save model pytorch")) == index.asked(lex("How do I save my model?")) == "first"
    assert index.asked(lex("如何保存模型？")) == index.asked(lex("pytorch 保存模型")) == "first"
    assert index.asked(lex("do not save the model")) == index.asked(lex("how do I")) == ""


def test_a_message_without_its_values_is_one_unless_any_program_prints_it(tmp_path):
    for slug, message in {
        "own": "RuntimeError: first size ({a:int}) must match second size ({b:int}) here",
        "generic": {"text": "TypeError: '{name:name}' takes no more than so many arguments", "generic": True},
    }.items():
        write_entry(tmp_path / "entries", slug, messages=[message], alias_zh=f"条目 {slug}")
    index = open_index([tmp_path / "entries"], cache=tmp_path / "cache")
    assert index.asked(lex("first size must match second size here")) == "own"
    assert index.asked(lex("RuntimeError: first size must match second size here")) == "own"
    assert index.asked(lex("first size must match")) == ""
    assert index.asked(lex("takes no more than so many arguments")) == ""
