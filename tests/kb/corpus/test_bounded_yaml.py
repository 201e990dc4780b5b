"""YAML from strangers becomes plain data with lines, or a sentence about a line, in bounded work."""

import math
from functools import partial

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kb.corpus.bounded_yaml import LOADERS, YamlError, read_yaml


@pytest.fixture(params=LOADERS, ids=lambda loader: loader.__name__)
def read(request):
    """Everything holds with libyaml and without."""
    return partial(read_yaml, loader=request.param)


def test_plain_data_is_read_with_the_line_of_each_value(read):
    text = "title: {en: a, zh: b}\nlist:\n  - one\n  - two: 2\nempty:\nnumber: -3\npart: 0.5\nyes: true\n"
    document = read(text, first_line=10)
    assert document.data == {
        "title": {"en": "a", "zh": "b"},
        "list": ["one", {"two": 2}],
        "empty": None,
        "number": -3,
        "part": 0.5,
        "yes": True,
    }
    assert document.problems == []
    assert [
        document.lines[path] for path in [("title", "zh"), ("list",), ("list", 1), ("list", 1, "two"), ("part",)]
    ] == [
        10,
        11,
        13,
        13,
        16,
    ]


def test_nothing_is_none(read):
    assert read("").data is None
    assert read("# a comment\n").data is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 2024-99-99", "a date"),
        ("a: 2001-12-14", "a date"),
        ("a: " + "9" * 6000, "a number"),
        ("a: .nan", "a number"),
        ("a: 0o17\nb: 017", "a number"),
        ("a: 1:30", "a number"),
        ("a: 1_000", "a number"),
        ("a: =", "an instruction"),
        ("a: !!int 'hello'", "the tag"),
        ("a: !!python/object/apply:os.system [x]", "the tag"),
        ('a: "\\e[31m"', "U+001B"),
        ('a: "\\u202e"', "U+202E"),
        ("a: 1\na: 2", "is there twice"),
    ],
)
def test_what_readers_take_for_different_things_is_a_problem_and_stays_text(read, text, said):
    document = read(text)
    (problem,) = document.problems
    assert said in problem[1]
    assert len(problem[1]) < 200


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: &x [1]\nb: *x", 2, "write it out"),
        ("[" * 100_000, 1, "nested"),
        ("a:\n" + "".join(f"{' ' * depth}- \n" for depth in range(30)), 14, "nested"),
        ("- 1\n" * 30_000, 20_000, "too many values"),
        ("? [a]\n: b", 1, "a key that is no text"),
        ("a: 1\n---\nb: 2", 2, "a second document"),
        ("a: [", 2, "no YAML"),
        ("a: \x01", 1, "no YAML"),
        ("a: \ud800", 1, "no YAML"),
        ('a: "\\UFFFFFFFF"', 1, "no YAML"),
    ],
)
def test_what_is_no_yaml_or_too_much_names_the_line(read, text, line, said):
    with pytest.raises(YamlError, match=said) as raised:
        read(text)
    assert raised.value.line in (line, line - 1, line + 1)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abc 张-:#", max_size=8),
    lambda values: (
        st.lists(values, max_size=4) | st.dictionaries(st.text("abc", min_size=1, max_size=4), values, max_size=4)
    ),
    max_leaves=20,
)


@given(PLAIN, st.sampled_from(LOADERS))
def test_what_is_written_is_read(data, loader):
    assert read_yaml(yaml.safe_dump(data, allow_unicode=True), loader=loader).data == data


@given(st.text(max_size=200), st.sampled_from(LOADERS))
def test_any_text_is_read_or_refused(text, loader):
    try:
        document = read_yaml(text, max_values=50, loader=loader)
    except YamlError:
        return
    assert not isinstance(document.data, float) or math.isfinite(document.data)
