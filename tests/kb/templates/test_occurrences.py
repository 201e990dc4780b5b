"""The linear search finds what the matcher finds, and its work grows with the lengths and not with a power of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.templates.matcher import OPEN_TYPES, Placeholder, match
from kb.templates.occurrences import find_occurrences, matches_beginning
from kb.templates.template import compile_template
from kb.text.lexer import lex

WORDS = st.sampled_from(["size", "of", "tensor", "3", "[1, 2]", "cuda:0", "Float", "显存", "tensor.You"])
PIECES = st.sampled_from(["size", "of", "tensor", "{text}", "{names}", "{int}", "{shape}", "{device}", "{name}"])


def without_open_ends(pieces):
    pieces = list(pieces)
    while pieces and isinstance(pieces[0], Placeholder) and pieces[0].type in OPEN_TYPES:
        del pieces[0]
    while pieces and isinstance(pieces[-1], Placeholder) and pieces[-1].type in OPEN_TYPES:
        del pieces[-1]
    return pieces


@given(st.lists(PIECES, min_size=1, max_size=6), st.lists(WORDS, max_size=12))
def test_it_finds_what_the_matcher_finds(template, words):
    if sum(piece in ("{text}", "{names}") for piece in template) > 4:
        return
    pieces, tokens = without_open_ends(compile_template(" ".join(template)).pieces), lex(" ".join(words))
    expected = [(start, found[0]) for start in range(len(tokens)) if (found := match(pieces, tokens, start))]
    assert find_occurrences(pieces, tokens) == (expected if pieces else [])


@given(st.lists(PIECES, min_size=1, max_size=5), st.lists(WORDS, max_size=12))
def test_a_text_begins_as_the_matcher_says(template, words):
    if template[-1] in ("{text}", "{names}"):
        return
    pieces, tokens = compile_template(" ".join(template)).pieces, lex(" ".join(words))
    assert matches_beginning(pieces, tokens) == (match(pieces, tokens) is not None)


class CountedTokens(list):
    """Tokens that count how often one of them is read."""

    reads = 0

    def __getitem__(self, index):
        self.reads += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("end", ["end", "missing"])
def test_the_work_grows_with_the_length_of_the_text(end):
    template = compile_template("a {text} a {text} a {text} a {text} " + end)
    reads = []
    for length in (500, 1000):
        tokens = CountedTokens(lex("a " * length + "end"))
        assert bool(find_occurrences(template.pieces, tokens)) == (end == "end")
        reads.append(tokens.reads)
    assert reads[1] <= 2.1 * reads[0]


@pytest.mark.parametrize("text", ["the size tensor.You can", "the size [3]"])
def test_a_word_after_an_open_placeholder_may_be_glued_or_stand_in_a_size(text):
    word = "tensor" if "tensor" in text else "3"
    assert match(compile_template("{text} " + word).pieces, lex(text)) is not None
