"""Templates match every reader's version of a message, capture its values, and refuse what cannot work."""

import pytest

from kb.templates.matcher import Placeholder, match
from kb.templates.template import TemplateError, compile_template
from kb.text.lexer import lex


def captured(template, text):
    found = match(compile_template(template).pieces, lex(text))
    return None if found is None else found[1]


def test_values_are_captured_by_name_as_printed():
    template = "ValueError: got input size {input:shape} on {where:device}"
    assert captured(template, "got input size torch.Size([1, 512]) on cuda:1") == {
        "input": "torch.Size([1, 512])",
        "where": "cuda:1",
    }


def test_int_placeholders_take_the_numbers_of_a_size_one_by_one():
    assert captured("range of [{low:int}, {high:int}] but got {at:int}", "range of [-1, 0] but got 1") == {
        "low": "-1",
        "high": "0",
        "at": "1",
    }
    assert captured("range of [0, {high:int}] here", "range of [0, 7] here") == {"high": "7"}


def test_a_name_may_have_text_glued_to_it():
    template = 'Unexpected key "{layer:name}.num_batches_tracked" here'
    assert captured(template, 'unexpected key "module.bn1.num_batches_tracked" here') == {"layer": "module.bn1"}
    assert captured(template, 'unexpected key "module.bn1.weight" here') is None
    assert captured("Output of Select{n:int} is", "output of select0 is") == {"n": "0"}


def test_an_open_placeholder_takes_as_little_as_possible():
    assert captured("keys {keys:names} in it", 'keys "a.b", "c.d" in it') == {"keys": "a.b, c.d"}


def test_a_sentence_glued_to_the_last_word_does_not_hide_it():
    assert captured("this is not allowed", "this is not allowed.You can clone") == {}


def test_many_open_placeholders_do_not_take_exponential_time():
    template = "start " + " or ".join("{text}" for _ in range(4)) + " never"
    assert captured(template, "start " + "a or " * 300) is None


@pytest.mark.parametrize("template", ["a {text} " * 5, "{int} a " * 21])
def test_a_template_has_a_bounded_number_of_placeholders(template):
    with pytest.raises(TemplateError, match="too many placeholders"):
        compile_template(template)


def test_the_type_is_kept_apart_from_the_wording():
    template = compile_template("torch.cuda.OutOfMemoryError: CUDA out of memory")
    assert template.type == "OutOfMemoryError"
    assert template.pieces == ("cuda", "out", "of", "memory")
    assert compile_template("torch._dynamo.exc.Unsupported:").pieces == ()
    assert compile_template("a {n:int} b c").pieces[1] == Placeholder("int", "n")


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("a {color} b", "unknown placeholder"),
        ("a { b", "brace"),
        ("", "empty message"),
        ("a {x:int} and {x:int}", "same name"),
    ],
)
def test_a_template_that_cannot_work_says_why(source, what):
    with pytest.raises(TemplateError, match=what):
        compile_template(source)
