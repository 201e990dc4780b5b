"""Whatever is pasted is answered, with bounded work and without an exception, and what happens to a traceback on its way does not change its answer."""

import random
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.corpus.ledger import load_ledgers
from kb.corpus.loader import load
from kb.index.manager import open_index
from kb.lint.template_collisions import template_collisions
from kb.search.lookup import lookup
from kb.text.normalize import normalize
from tests.kb.entries_to_find import write_entry
from tests.kb.pastes import MUTATIONS, chooser, filled, messages_of, traceback_of
from tests.kb.text.test_wrappers import WRAPPERS_IN, read
from tests.kb.work import calls_of

MEBIBYTE = 1 << 20
MAX_READ = 60_000
"""Characters of a paste that are read, however long it is."""

MAX_CALLS = 1_500_000
"""Function calls that an answer may cost, however long the paste is. A usual traceback costs some thousands."""


SHARE = 4
"""Each change of a paste is tried on one of so many of the tracebacks, another part for each change."""


@pytest.fixture(scope="module")
def index():
    return open_index()


@pytest.fixture(scope="module")
def answered(index, corpus):
    """A sixth of the tracebacks, as (slug, template, traceback, the entry that answers it). The rest of a paste tells entries of one message apart."""
    given = Counter(_words(message.text) for entry in corpus for message in entry.messages)
    told = [(slug, template) for slug, template in [*messages_of(corpus)][::6] if given[_words(template)] == 1]
    texts = [traceback_of(filled(template, chooser(slug, template))) for slug, template in told]
    return [(*of, text, lookup(text, index=index).matches[0].id) for of, text in zip(told, texts, strict=True)]


def _words(template):
    """What two templates share that match the same message."""
    return " ".join(re.findall(r"\w+", re.sub(r"\{[^{}]*\}", " ", template)))


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_the_first_answer_survives(index, answered, mutation):
    changed = []
    asked = answered[chooser(mutation).randrange(SHARE) :: SHARE]
    for slug, template, text, first in asked:
        matches = lookup(MUTATIONS[mutation](text, chooser(mutation, slug)), index=index).matches
        if not matches or matches[0].id != first:
            changed.append((slug, template, matches[0].id if matches else None))
    # A line may end where another entry's shorter message ends, too, and below a wrapper that says no more a launcher's summary may come first. Which
    # messages are asked changes with each new one.
    assert len(changed) <= 0.01 * len(asked), changed


def test_a_message_is_known_by_its_first_sentence(index, corpus):
    sentences = {(slug, template.partition(". ")) for slug, template in messages_of(corpus)}
    quoted, missed = 0, []
    for slug, first in sorted({(slug, first) for slug, (first, stop, _) in sentences if stop}):
        if len(first.split()) < 6:
            continue
        said = filled(first, chooser(slug))
        answer = lookup(f"It says {said}. With a list it works.", index=index)
        if answer.matches and answer.matches[0].id != slug and answer.matches[0].evidence.is_whole:
            continue  # the sentence is the whole message of another entry
        quoted += 1
        if not answer.answered or answer.matches[0].id != slug:
            missed.append((slug, said))
    assert quoted > 50
    assert len(missed) <= quoted * 0.15, missed


@pytest.mark.slow
def test_every_message_leads_to_an_entry_that_has_it(index, corpus):
    for slug, template in messages_of(corpus):
        match = lookup(traceback_of(filled(template, chooser(slug))), index=index).matches[0]
        assert match.evidence.is_whole, template
        shared = {entry.id for entry in corpus if template in [message.text for message in entry.messages]}
        assert match.id in shared or template not in match.evidence.template, (slug, template, match)


def test_a_message_that_names_its_file_counts_only_there(index, corpus):
    named = [(entry.id, message) for entry in corpus for message in entry.messages if message.files]
    assert named
    for slug, message in named:
        said = filled(message.text, chooser(slug))
        for file in message.files:
            there = lookup(traceback_of(said, raised_in=file), index=index)
            matches = [
                match
                for match in there.matches
                if match.id == slug and (match.evidence.is_whole or match.confidence != "related")
            ]
            assert matches, message.text
            assert message.is_generic or all(match.evidence.is_whole for match in matches), message.text
        elsewhere = lookup(traceback_of(said, raised_in="acme/tools.py"), index=index)
        assert message.text not in [match.evidence.template for match in elsewhere.matches if match.id == slug]


def test_no_template_matches_what_another_entrys_repro_printed(corpus):
    assert template_collisions(corpus, load_ledgers().printed()) == []


def test_a_template_that_matches_another_entrys_output_is_named_with_both(tmp_path):
    write_entry(tmp_path, "too-general", messages=["RuntimeError: the size of it {text} must match"])
    write_entry(tmp_path, "its-victim", messages=["RuntimeError: the size of it is three and four must match here"])
    write_entry(tmp_path, "sharing-one", messages=["RuntimeError: a message that both entries give"])
    write_entry(tmp_path, "sharing-two", messages=["RuntimeError: a message that both entries give"])
    printed = {
        "its-victim/sizes": "RuntimeError: the size of it is seven, so it must match",
        "sharing-one/sizes": "RuntimeError: a message that both entries give",
    }
    collisions = template_collisions(load([tmp_path]), printed)
    assert collisions == [("too-general", "RuntimeError: the size of it {text} must match", "its-victim")]


PIECES = st.sampled_from(
    [
        "RuntimeError: ", "Traceback (most recent call last):\n", '  File "a.py", line 3, in f\n', "\x1b[31m", "[rank0]: ",
        "Error(s) in loading state_dict for Net:", "\n", "\t", "&lt;", "<br>", "Ⅷ", "İ", "\ud800", "\x00", "\u2028", "ﬁ",
        "：", "显存", "張量", "(((", "[1, 2", "torch.Size([", "size of tensor a (3) must match", "0x", "1e999", "| ", "> ",
        "Killed\n", "[1]  12 killed  x\n", "from user code:\n", "Failed running call_function f(**{}):\n", "got RuntimeError('", "E   ",
        "!!! Exception during processing !!! ", "Root Cause (first observed failure):\n", "====", "a.py:3: RuntimeError\n", "exit code -9\n",
        "Current thread 0x1 (most recent call first):\n", "terminate called after throwing an instance of 'a'\n  what():  b", "torch==2.4.1\n",
    ]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.text(max_size=60), PIECES), max_size=30).map("".join))
def test_any_text_is_answered(index, text):
    answer = lookup(text, index=index)
    lines = text.split("\n")
    for match in answer.matches:
        assert match.evidence.line_number <= len(lines)
    for error in answer.errors:
        assert 1 <= error.line_number <= len(lines)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400))
def test_any_bytes_are_answered(index, data):
    lookup(data.decode("utf-8", "replace"), index=index)
    lookup(data.decode("utf-8", "surrogateescape"), index=index)


def _noise(seed):
    generator = random.Random(seed)
    words = "tensor size of the must match error RuntimeError: [1, 2] dtype cuda:0 File line in 显存 x.weight".split()
    return " ".join(generator.choice(words) for _ in range(MEBIBYTE // 4))


LONG = {
    "one letter": "a" * MEBIBYTE,
    "brackets": "(" * MEBIBYTE,
    "line ends": "\n" * MEBIBYTE,
    "numbers": "1," * (MEBIBYTE // 2),
    "dots": "a." * (MEBIBYTE // 2),
    "slashes": "/a" * (MEBIBYTE // 2),
    "escapes": "\x1b[" * (MEBIBYTE // 2),
    "entities": "&lt;" * (MEBIBYTE // 4),
    "quotes": "> " * (MEBIBYTE // 2),
    "errors on one line": "RuntimeError: no " * (MEBIBYTE // 17),
    "errors on lines": "".join(f"RuntimeError: no {i}\n" for i in range(MEBIBYTE // 24)),
    "tracebacks": "Traceback (most recent call last):\n" * (MEBIBYTE // 35),
    "frames": '  File "/a/b.py", line 3, in f\n    x = 1\n' * (MEBIBYTE // 42),
    "assertions": "Assertion `x` failed " * (MEBIBYTE // 21),
    "log": "".join(f"2026-01-01 00:00:{i % 60:02d} INFO epoch {i} loss 0.5\n" for i in range(MEBIBYTE // 45)),
    "Chinese": "显存一直涨怎么办，" * (MEBIBYTE // 27),
    "missing keys": "RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "
    + ", ".join(f'"layer{i}.weight"' for i in range(MEBIBYTE // 18)),
    "words": _noise(1)[:MEBIBYTE],
    "calls with fake tensors": "Failed running call_function f(**{}) " * (MEBIBYTE // 37),
    "signals": "[1]    12345 killed     python train.py\n" * (MEBIBYTE // 41),
    "exit statuses": "".join(f"exit code: {i}\n" for i in range(1, MEBIBYTE // 16)),
    "symbols": "a.so: undefined symbol: _Z failed " * (MEBIBYTE // 35),
    "versions": "".join(f"ERROR: torch=={i}.1.2 requires a, but you have b 1.1\n" for i in range(MEBIBYTE // 52)),
    "places of pytest": "a.py:3: in f\nE   Error\n" * (MEBIBYTE // 23),
    "quotation marks": "RuntimeError('" * (MEBIBYTE // 14),
}


@pytest.mark.parametrize("kind", LONG)
def test_of_a_mebibyte_a_bounded_part_is_read(kind):
    assert len(normalize(LONG[kind][:MEBIBYTE]).text) <= MAX_READ


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG)
def test_a_mebibyte_is_answered_with_bounded_work(index, kind):
    text = LONG[kind][:MEBIBYTE]
    lookup(text, index=index)  # patterns are compiled, and postings read, at their first use
    assert calls_of(lambda: lookup(text, index=index)) <= MAX_CALLS


@pytest.mark.parametrize("name", WRAPPERS_IN)
def test_the_error_inside_a_wrapper_is_answered(index, name):
    match = lookup(read(name), index=index).matches[0]
    assert (match.id, match.evidence.is_whole) == ("matmul-shape-mismatch", True)


def test_a_wrapper_is_no_exact_answer_while_the_error_inside_has_none(index):
    inner = "got ValueError('a message that no entry has')"
    text = read("dynamo-fake-tensor-call").replace(
        "got RuntimeError('a and b must have same reduction dim, but got [4, 8] X [7, 3].')", inner
    )
    assert inner in text
    assert not lookup(text, index=index).answered


def test_an_error_far_inside_a_long_log_is_found(index):
    log = "".join(f"step {i} ok\n" for i in range(30_000))
    text = log + "RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)\n" + log
    match = lookup(text, index=index).matches[0]
    assert (match.id, match.evidence.line_number) == ("matmul-shape-mismatch", 30_001)
    assert match.confidence != "related"


def _retyped(message, generator):
    """Return the message with a letter left out, wrong, doubled or swapped in about every third longer word."""

    def spoil(word):
        if len(word) < 5 or not word.isalpha() or generator.random() > 0.3:
            return word
        at = generator.randrange(1, len(word) - 1)
        return generator.choice(
            [
                word[:at] + word[at + 1 :],
                word[:at] + "e" + word[at + 1 :],
                word[:at] + word[at] + word[at:],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            ]
        )

    return " ".join(map(spoil, message.split(" ")))


@pytest.mark.slow
def test_messages_retyped_with_typos_are_nearly_always_recognised(index, corpus):
    asked = recognised = 0
    for number, (slug, template) in enumerate(messages_of(corpus)):
        if number % 4 == 0:
            message = filled(template, chooser(slug, template))
            first = lookup(message, index=index).matches[0].id
            answer = lookup(_retyped(message, chooser(template)), index=index)
            asked += 1
            recognised += answer.answered and answer.matches[0].id == first
    assert recognised >= 0.95 * asked
