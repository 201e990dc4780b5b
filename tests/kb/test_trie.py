"""The prefix tree finds what matching template by template finds, and takes the same steps in a tree of any size."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.lexer import lex
from kb.plant import trie_sections
from kb.store import Arrays, StoreError, write_arrays
from kb.template import compile_template, match
from kb.trie import Hit, Trie


@pytest.fixture
def tree(tmp_path):
    def build(*templates, owners=None):
        compiled = [compile_template(template).pieces for template in templates]
        path = str(tmp_path / f"tree-{len(list(tmp_path.iterdir()))}")
        write_arrays(path, trie_sections(compiled, owners or range(len(compiled))))
        return Trie(Arrays(path))

    return build


def test_every_template_that_matches_is_found_at_its_place(tree):
    trie = tree("size {a:shape} and {b:shape} differ", "size {a:shape} and")
    assert trie.find(lex("the size [1] and [2, 3] differ")) == [Hit(1, 1, 4, 2, True), Hit(0, 1, 6, 3, True)]


def test_where_none_matches_whole_the_only_one_that_begins_so_is_found(tree):
    trie = tree("one two three four", "one two other words")
    assert trie.find(lex("one two three")) == [Hit(0, 0, 3, 3, False)]
    assert trie.find(lex("one two")) == []


def test_placeholders_with_glued_text_and_numbers_in_sizes_are_followed(tree):
    trie = tree('key "{layer:name}.tracked" missing', "in [{low:int}, {high:int}] only")
    assert [hit.template for hit in trie.find(lex('key "a.b.tracked" missing'))] == [0]
    assert [hit.template for hit in trie.find(lex("in [-1, 0] only"))] == [1]


WORDS = st.sampled_from("a b c the size of {int} {shape} {name} {text} {names} {num} a{name} {name}.w".split())
FIRST = st.sampled_from("a b c the {int} {shape} {name} a{name}".split())
TEMPLATE = st.tuples(FIRST, st.lists(WORDS, max_size=4)).map(lambda parts: [parts[0], *parts[1]])
FILLED = st.sampled_from("a b c the size of 3 [1,2] [4] x.w foo 1.5 ab 报 .".split())


@settings(max_examples=150, deadline=None)
@given(st.lists(TEMPLATE, min_size=1, max_size=6), st.lists(FILLED, max_size=12))
def test_the_tree_agrees_with_matching_one_template_after_the_other(tmp_path_factory, templates, words):
    pieces = [compile_template(" ".join(template)).pieces for template in templates]
    path = str(tmp_path_factory.mktemp("tree") / "tree")
    write_arrays(path, trie_sections(pieces, range(len(pieces))))
    tokens = lex(" ".join(words))
    found = {(hit.template, hit.start) for hit in Trie(Arrays(path)).find(tokens) if hit.whole}
    expected = {
        (number, start)
        for number, template in enumerate(pieces)
        for start in range(len(tokens))
        if match(template, tokens, start) is not None
    }
    assert expected <= found


def test_a_look_up_probes_the_same_places_in_a_large_tree(tree, monkeypatch):
    def steps(trie):
        probes = 0
        get = trie._edges.get

        def counted(key):
            nonlocal probes
            probes += 1
            return get(key)

        monkeypatch.setattr(trie._edges, "get", counted)
        assert trie.find(lex("RuntimeError: message number 7 about thing seven and no other"))
        return probes

    many = [
        f"message number {{int}} about thing {word}{i} and no other" for word in ("seven", "eight") for i in range(2000)
    ]
    one = "message number {int} about thing seven and no other"
    assert steps(tree(one, *many)) == steps(tree(one))


def test_a_file_that_is_not_ours_is_refused(tmp_path):
    for name, content in (("empty", b""), ("other", b"something else that is long enough")):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(StoreError):
            Arrays(str(path))
