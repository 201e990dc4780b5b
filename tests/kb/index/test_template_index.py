"""The template index finds what matching template by template finds, with look-ups that do not grow with the number of templates."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kb.index.storage import WriteBuffer
from kb.index.template_index import TABLES, TemplateIndex, count_messages
from kb.templates.matcher import OPEN_TYPES, Placeholder, match
from kb.templates.template import compile_template
from kb.text.lexer import lex

pytestmark = pytest.mark.slow


def indexed(messages_of, removed=()):
    """Return a template index of these messages by slug; those of the slugs in `removed` are added and removed again."""
    buffer = WriteBuffer(TABLES)
    for slug, messages in messages_of.items():
        count_messages(buffer, slug, messages)
    for slug in removed:
        count_messages(buffer, slug, messages_of[slug], -1)
    return TemplateIndex(buffer, len(messages_of))


def hits(index, text):
    return [
        (hit.template.slug, hit.start, hit.end, hit.alignment.words, hit.alignment.whole)
        for hit in index.find(lex(text))
    ]


def test_every_template_that_matches_is_found_at_its_place():
    index = indexed({"long": ["size {a:shape} and {b:shape} differ"], "short": ["size {a:shape} and"]})
    assert hits(index, "the size [1] and [2, 3] differ") == [("long", 1, 6, 3, True), ("short", 1, 4, 2, True)]


def test_where_none_matches_completely_the_only_one_that_begins_so_is_found():
    index = indexed({"first": ["one two three four"], "second": ["one two other words"]})
    assert hits(index, "one two three") == [("first", 0, 3, 3, False)]
    assert hits(index, "one two") == []


def test_placeholders_with_glued_text_and_numbers_in_sizes_are_followed():
    index = indexed({"glued": ['key "{layer:name}.tracked" missing'], "sizes": ["in [{low:int}, {high:int}] only now"]})
    assert hits(index, 'key "a.b.tracked" missing')[0][0] == "glued"
    assert hits(index, "in [-1, 0] only now")[0][0] == "sizes"


@pytest.mark.parametrize("count", range(1, 7))
def test_a_size_that_is_one_token_fits_a_template_that_writes_its_numbers(count):
    numbers = ", ".join(f"{{n{number}:int}}" for number in range(count))
    index = indexed({"sizes": [f"size [{numbers}] differs from the target"]})
    [hit] = index.find(lex(f"size {[7] * count} differs from the target"))
    assert (hit.template.slug, hit.alignment.whole, hit.alignment.values["n0"]) == ("sizes", True, "7")


def test_values_are_captured():
    [hit] = indexed({"slug": ["size {a:shape} and {b:shape} differ"]}).find(lex("size [1] and [2, 3] differ"))
    assert hit.alignment.values == {"a": "[1]", "b": "[2, 3]"}


WORDS = st.sampled_from("a b c the size of {int} {shape} {name} {text} {names} {num} a{name} {name}.w".split())
FIRST = st.sampled_from("a b c the {int} {shape} {name} a{name}".split())
TEMPLATE = st.tuples(FIRST, st.lists(WORDS, max_size=4)).map(lambda parts: " ".join([parts[0], *parts[1]]))
FILLED = st.sampled_from("a b c the size of 3 [1,2] [4] x.w foo 1.5 ab 报 .".split())


def has_anchor(pieces):
    """Tell whether a word stands before the first open placeholder, as a rule of the linter asks of every template."""
    for piece in pieces:
        if isinstance(piece, str):
            return True
        if piece.type in OPEN_TYPES:
            return False
    return False


def without_open_end(pieces):
    end = len(pieces)
    while end and isinstance(pieces[end - 1], Placeholder) and pieces[end - 1].type in OPEN_TYPES:
        end -= 1
    return pieces[:end]


@settings(max_examples=300, deadline=None)
@given(st.lists(TEMPLATE, min_size=1, max_size=6, unique=True), st.lists(FILLED, max_size=12))
def test_the_index_agrees_with_matching_one_template_after_the_other(templates, words):
    compiled = {f"t{number}": without_open_end(compile_template(text).pieces) for number, text in enumerate(templates)}
    assume(all(map(has_anchor, compiled.values())))
    tokens = lex(" ".join(words))
    index = indexed({slug: [text] for slug, text in zip(compiled, templates, strict=True)})
    found = {(hit.template.slug, hit.start) for hit in index.find(tokens) if hit.alignment.whole}
    expected = {
        (slug, start)
        for slug, pieces in compiled.items()
        for start in range(len(tokens))
        if match(pieces, tokens, start) is not None
    }
    assert found == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(TEMPLATE, min_size=2, max_size=6, unique=True), st.lists(FILLED, min_size=3, max_size=12), st.randoms())
def test_neither_the_order_of_entries_nor_removed_ones_are_seen(templates, words, chooser):
    messages = {f"t{number}": [text] for number, text in enumerate(templates)}
    order = dict(chooser.sample(sorted(messages.items()), len(messages)))
    removed = chooser.sample(sorted(messages), len(messages) // 2)
    left = {slug: texts for slug, texts in messages.items() if slug not in removed}
    text = " ".join(words)
    assert sorted(hits(indexed(order, removed), text)) == sorted(hits(indexed(left), text))


def test_removing_everything_leaves_nothing():
    buffer = WriteBuffer(TABLES)
    messages = ["RuntimeError: the first clause is here: the second one has at least {n:int} words in it", "KeyError"]
    count_messages(buffer, "slug", messages)
    count_messages(buffer, "slug", messages, -1)
    assert not any(value for rows in buffer.changes.values() for value in rows.values())


def test_the_tail_of_a_message_is_found_if_one_entry_alone_has_it():
    tail = "the second one has at least five words in it"
    alone = indexed({"one": [f"ValueError: the first clause is here: {tail}"]})
    assert [hit[0] for hit in hits(alone, tail)] == ["one"]
    shared = indexed(
        {"one": [f"ValueError: the first clause is here: {tail}"], "two": [f"KeyError: another one: {tail}"]}
    )
    assert hits(shared, tail) == []
    with_code = indexed({"one": [f"first(x) ValueError: the first clause is here: {tail}"]})
    assert hits(with_code, f"ValueError: the first clause is here: {tail}") == []


@pytest.mark.parametrize("paste", ["one two three four five six", "one two three four x six"])
def test_a_removed_template_hides_no_beginning_of_another(paste):
    messages = {
        "stays": ["one two three four and so on"],
        "goes": ["one two three four five six seven"],
        "goes-too": ["one two three four {name} six seven"],
    }
    assert hits(indexed(messages, ["goes", "goes-too"]), paste) == [("stays", 0, 4, 4, False)]


def test_a_look_up_reads_as_many_records_among_many_templates_as_alone():
    def records_read(index):
        index.find(lex("RuntimeError: message number 7 about thing seven and no other"))
        return index._record.cache_info().misses

    message = "message number {int} about thing seven and no other"
    many = {f"e{i}": [f"thing number {{int}} about {w}{i} and others"] for i in range(2000) for w in ("seven", "eight")}
    assert records_read(indexed({"slug": [message]} | many)) == records_read(indexed({"slug": [message]})) == 1


def test_a_paste_made_to_be_slow_is_bounded(monkeypatch):
    aligned = 0

    def counted(*given):
        nonlocal aligned
        aligned += 1
        return align(*given)

    from kb.index import template_index
    from kb.templates.matcher import align

    monkeypatch.setattr(template_index, "align", counted)
    index = indexed({f"e{i}": [f"a a a {{text}} word{i}"] for i in range(50)})
    index.find(lex("a " * 5_000))
    assert aligned <= template_index._MAX_ALIGNMENTS
