"""The prefix tree finds what matching template by template finds, and takes the same steps in a tree of any size."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.lexer import lex
from kb.pattern import match
from kb.plant import Tree
from kb.store import Arrays, StoreError, write_arrays
from kb.template import compile_template
from kb.trie import Hit, Trie


@pytest.fixture
def tree(tmp_path):
    def build(*templates):
        compiled = [compile_template(template).pieces for template in templates]
        path = str(tmp_path / f"tree-{len(list(tmp_path.iterdir()))}")
        return planted(path, compiled)

    return build


def planted(path, templates, gone=()):
    """Return the tree of these templates, each of an entry of its own; those whose numbers are in `gone` are taken out again."""
    tree, owners = Tree(), range(len(templates))
    for number, pieces in enumerate(templates):
        tree.add(number, [(number, pieces)])
    for number in gone:
        tree.remove(number, [templates[number]], owners)
    for number in owners:
        if number not in gone:
            tree.point(number, [templates[number]], owners)
    write_arrays(path, tree.sections())
    return Trie(Arrays(path))


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
    tokens = lex(" ".join(words))
    found = {(hit.template, hit.start) for hit in planted(path, pieces).find(tokens) if hit.whole}
    expected = {
        (number, start)
        for number, template in enumerate(pieces)
        for start in range(len(tokens))
        if match(template, tokens, start) is not None
    }
    assert expected == found


@settings(max_examples=300, deadline=None)
@given(st.lists(TEMPLATE, min_size=2, max_size=6), st.lists(FILLED, min_size=3, max_size=12), st.randoms())
def test_neither_the_order_of_planting_nor_what_was_taken_out_is_seen(tmp_path_factory, templates, words, chooser):
    pieces = list({compile_template(" ".join(template)).pieces for template in templates})
    order = chooser.sample(pieces, len(pieces))
    gone = chooser.sample(range(len(order)), len(order) // 2)
    left = [pieces for number, pieces in enumerate(order) if number not in gone]
    left.sort(key=pieces.index)
    tokens, folder = lex(" ".join(words)), tmp_path_factory.mktemp("trees")

    def found(tree, templates):
        return sorted((*hit[1:], str(templates[hit.template])) for hit in tree.find(tokens))

    assert found(planted(str(folder / "one"), order, gone), order) == found(planted(str(folder / "other"), left), left)


def test_of_two_beginnings_alike_the_same_is_found_whichever_was_planted_first(tmp_path):
    compiled = [
        compile_template(f"one two {slot} three {last}").pieces for slot, last in (("a{name}", 4), ("{name}.w", 5))
    ]
    one, other = planted(str(tmp_path / "one"), compiled), planted(str(tmp_path / "other"), compiled[::-1])
    [found], [again] = one.find(lex("one two ab.w three")), other.find(lex("one two ab.w three"))
    assert compiled[found.template] == compiled[::-1][again.template]


@pytest.mark.parametrize("paste", ["one two three four five six", "one two three four x six"])
def test_a_path_that_was_taken_out_hides_no_beginning_of_another(tmp_path, paste):
    templates = [
        "one two three four and so on",
        "one two three four five six seven",
        "one two three four {name} six seven",
    ]
    compiled = [compile_template(template).pieces for template in templates]
    assert planted(str(tmp_path / "tree"), compiled, [1, 2]).find(lex(paste)) == [Hit(0, 0, 4, 4, False)]


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
