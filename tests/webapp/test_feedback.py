"""What is kept of an unanswered error names nobody and nothing, is kept only where the operator asks for it, and counts."""

import re
import sqlite3
import string
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.corpus.loader import load
from webapp.feedback import SqliteFeedback, anonymize, public_words
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
    assert anonymize(type_, message, KNOWN) == kept


@given(
    st.text(string.ascii_letters + string.digits + "_./@'\"-", min_size=1, max_size=30),
    st.sampled_from(["{}", "'{}'", "/home/{}/x.py", "{}_model", "Mr {}"]),
)
def test_no_word_with_a_digit_an_underscore_or_a_capital_survives_unless_published(name, around):
    kept = anonymize("RuntimeError", "wrong " + around.format(name), frozenset())
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
    assert SqliteFeedback(store).misses() == [
        ("ValueError: zeppelin {num} is full", 2),
        ("IndexError: quux ran out", 1),
    ]
    raw = store.read_bytes()
    for word in (b"/home/li", b"x.py", b"Traceback", b" 7 "):
        assert word not in raw


def test_answered_errors_and_questions_are_not_counted(keeping, store, paste):
    keeping.post("/", data={"text": paste})
    keeping.post("/", data={"text": "how do I bake bread"})
    assert not store.exists() or SqliteFeedback(store).misses() == []


def test_an_error_of_another_library_is_no_miss_and_its_page_points_nowhere_in_pytorch(keeping, store):
    paste = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    table.agg("summ")\n'
        '  File "/usr/lib/python3/site-packages/pandas/core/apply.py", line 120, in agg\n    raise ValueError(how)\nValueError: no summ here\n'
    )
    page = keeping.post("/", data={"text": paste}).text
    assert "raised by pandas" in page
    assert "pytorch/pytorch/issues" not in page
    assert 'class="matches"' not in page
    assert not store.exists() or SqliteFeedback(store).misses() == []


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


def vote(client, entry, helped, *, address="192.0.2.1", **fields):
    return client.post(
        "/helped", data={"entry": entry, "helped": helped, **fields}, environ_base={"REMOTE_ADDR": address}
    )


def test_did_this_help_is_counted_per_entry_without_a_cookie(keeping, store):
    assert "Did this help?" in keeping.get("/e/quiet-broadcast").text
    for address, helped in (("192.0.2.1", "yes"), ("192.0.2.2", "no"), ("192.0.2.3", "no")):
        answer = vote(keeping, "quiet-broadcast", helped, address=address)
        assert answer.status_code == 303
        assert answer.location == "/e/quiet-broadcast#thanks"
        assert "Set-Cookie" not in answer.headers
    vote(keeping, "linear-width-mismatch", "yes")
    assert SqliteFeedback(store).votes() == [("quiet-broadcast", 1, 2), ("linear-width-mismatch", 1, 0)]
    assert vote(keeping, "nix", "yes").status_code == 404
    assert vote(keeping, "quiet-broadcast", "maybe").status_code == 404


def test_an_address_has_one_voice_an_entry_and_the_last_one_counts(keeping, store):
    for helped in ("no", "no", "yes"):
        vote(keeping, "quiet-broadcast", helped)
    assert SqliteFeedback(store).votes() == [("quiet-broadcast", 1, 0)]
    for address in ("2001:db8::1", "2001:db8::2"):  # one subscriber
        vote(keeping, "quiet-broadcast", "no", address=address)
    assert SqliteFeedback(store).votes() == [("quiet-broadcast", 1, 1)]
    assert b"192.0.2.1" not in store.read_bytes()


def test_a_no_names_its_cause_and_leads_to_the_next(keeping, store):
    answer = vote(keeping, "linear-width-mismatch", "no", cause="1")
    assert answer.location == "/e/linear-width-mismatch?cause=2&refused=1#what"
    page = keeping.get(answer.location).text
    assert "So it was not “The layer before gives another width”" in page
    assert re.findall(r'id="(cause-\d)" class="unseen" value="\d" checked', page) == ["cause-2"]
    assert vote(keeping, "linear-width-mismatch", "no", cause="2").location.endswith("#thanks")
    vote(keeping, "linear-width-mismatch", "no", cause="1")
    vote(keeping, "linear-width-mismatch", "no", cause="99")
    assert SqliteFeedback(store).refused_causes() == [("linear-width-mismatch", 1, 1), ("linear-width-mismatch", 2, 1)]
    assert SqliteFeedback(store).votes() == [("linear-width-mismatch", 0, 1)]


def test_the_voices_of_a_day_are_forgotten_with_its_key(store, monkeypatch):
    feedback = SqliteFeedback(store)
    for day in (21, 22):
        monkeypatch.setattr("webapp.votes.today", lambda day=day: f"2026-11-{day}")
        feedback.count_vote("quiet-broadcast", helped=False, address="192.0.2.1")
    assert feedback.votes() == [("quiet-broadcast", 0, 2)]
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT day FROM keys").fetchall() == [("2026-11-22",)]
        assert connection.execute("SELECT count(*) FROM voices").fetchall() == [(1,)]


def test_a_flood_of_voices_fills_no_disk(store, monkeypatch):
    monkeypatch.setattr("webapp.votes.MAX_VOICES", 2)
    for number in range(4):
        SqliteFeedback(store).count_vote("quiet-broadcast", helped=True, address=f"192.0.2.{number}")
    assert SqliteFeedback(store).votes() == [("quiet-broadcast", 2, 0)]


def test_a_flood_of_invented_messages_fills_no_disk(store):
    feedback = SqliteFeedback(store, max_messages=2)
    for message in ("a", "b", "c", "a"):
        feedback.count_miss(message)
    assert feedback.misses() == [("a", 2), ("b", 1)]


def test_reading_what_is_not_there_says_what_to_do(store):
    with pytest.raises(FileNotFoundError, match="KB_WEB_MISSES"):
        SqliteFeedback(store).misses()


def test_public_words_are_those_that_entries_publish(entries):
    assert {"mat1", "torch.nn.linear", "width"} <= public_words(load([entries]))
