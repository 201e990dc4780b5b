"""What is kept of an unanswered error names nobody and nothing, is kept only where the operator asks for it, and counts."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.corpus import load
from webapp import misses
from webapp.settings import from_environment

KNOWN = frozenset({"expected", "dtype", "in_features", "first"})


@pytest.fixture
def store(tmp_path):
    return tmp_path / "misses.sqlite"


@pytest.fixture
def keeping(make_app, store):
    return make_app(MISSES=str(store)).test_client()


@pytest.mark.parametrize(
    ("type_", "message", "kept"),
    [
        (
            "RuntimeError",
            "the frobnicator of acme_corp.model at /home/li/x.py has 3 bad in_features",
            "RuntimeError: the frobnicator of {name} at {path} has {num} bad in_features",
        ),
        (
            "RuntimeError",
            'Expected dtype of "patient_miller" on cuda:1\n  in /home/li/train.py',
            "RuntimeError: Expected dtype of {name} on {device}",
        ),
        ("ModuleNotFoundError", "No module named 'acme_internal'", "ModuleNotFoundError: No module named {name}"),
        ("KeyError", "'li_secret'", "KeyError: {name}"),
        (
            "ValueError",
            "Dear Miller, your key is sk-12345abcdef",
            "ValueError: Dear {name} your key is {name} {num} {name}",
        ),
        ("torch.OutOfMemoryError", "wanted 20.00 MiB", "torch.OutOfMemoryError: wanted {size}"),
        ("AcmeBillingError", "expected", ""),
        ("RuntimeError", "", ""),
    ],
)
def test_what_is_kept_of_a_message(type_, message, kept):
    assert misses.normalize(type_, message, KNOWN) == kept


@given(
    st.text(string.ascii_letters + string.digits + "_./@'\"-", min_size=1, max_size=30),
    st.sampled_from(["{}", "'{}'", "/home/{}/x.py", "{}_model", "Mr {}"]),
)
def test_no_word_with_a_digit_an_underscore_or_a_capital_survives_unless_published(name, around):
    kept = misses.normalize("RuntimeError", "wrong " + around.format(name), frozenset())
    for word in kept.removeprefix("RuntimeError: ").split():
        assert word.startswith("{") or (word.isalpha() and word.islower())


def test_unanswered_errors_are_counted_most_wanted_first(keeping, store):
    for text in ("ValueError: zeppelin 7 is full", "ValueError: zeppelin 8 is full", "IndexError: quux ran out"):
        keeping.post(
            "/",
            data={
                "text": f'Traceback (most recent call last):\n  File "/home/li/x.py", line 3, in f\n    g()\n{text}\n'
            },
        )
    assert misses.read(store) == [("ValueError: zeppelin {num} is full", 2), ("IndexError: quux ran out", 1)]
    raw = store.read_bytes()
    for word in (b"/home/li", b"x.py", b"Traceback", b" 7 "):
        assert word not in raw


def test_answered_errors_and_questions_are_not_counted(keeping, store, paste):
    keeping.post("/", data={"text": paste})
    keeping.post("/", data={"text": "how do I bake bread"})
    assert not store.exists() or misses.read(store) == []


def test_nothing_is_kept_unless_asked_for(client, store):
    assert from_environment({})["MISSES"] == ""
    client.post("/", data={"text": "ValueError: zeppelin 7 is full"})
    assert client.post("/helped", data={"entry": "quiet-broadcast", "helped": "yes"}).status_code == 404
    assert "Did this help?" not in client.get("/e/quiet-broadcast").text
    assert not store.exists()


def test_a_store_that_fails_does_not_fail_the_answer(make_app, tmp_path, caplog):
    client = make_app(MISSES=str(tmp_path)).test_client()
    answer = client.post("/", data={"text": "ValueError: zeppelin 7 is full"})
    assert answer.status_code == 200
    assert "KB_WEB_MISSES" in caplog.text
    caplog.clear()
    assert client.post("/helped", data={"entry": "quiet-broadcast", "helped": "yes"}).status_code == 303
    assert "KB_WEB_MISSES" in caplog.text


def test_did_this_help_is_counted_per_entry_without_a_cookie(keeping, store):
    assert "Did this help?" in keeping.get("/e/quiet-broadcast").text
    for told in ("yes", "no", "no"):
        answer = keeping.post("/helped", data={"entry": "quiet-broadcast", "helped": told})
        assert answer.status_code == 303
        assert answer.location == "/e/quiet-broadcast#thanks"
        assert "Set-Cookie" not in answer.headers
    keeping.post("/helped", data={"entry": "linear-width-mismatch", "helped": "yes"})
    assert misses.read_helped(store) == [("quiet-broadcast", 1, 2), ("linear-width-mismatch", 1, 0)]
    assert keeping.post("/helped", data={"entry": "nix", "helped": "yes"}).status_code == 404
    assert keeping.post("/helped", data={"entry": "quiet-broadcast", "helped": "maybe"}).status_code == 404


def test_a_flood_of_invented_messages_fills_no_disk(store, monkeypatch):
    monkeypatch.setattr(misses, "_MOST_MESSAGES", 2)
    for message in ("a", "b", "c", "a"):
        misses.count_miss(store, message)
    assert misses.read(store) == [("a", 2), ("b", 1)]


def test_reading_what_is_not_there_says_what_to_do(store):
    with pytest.raises(FileNotFoundError, match="KB_WEB_MISSES"):
        misses.read(store)


def test_the_vocabulary_is_what_entries_publish(entries):
    found = misses.vocabulary(load([entries]))
    assert {"mat1", "torch.nn.linear", "width"} <= found
