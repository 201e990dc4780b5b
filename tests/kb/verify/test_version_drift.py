"""What two versions of torch word differently is read from their ledgers; nightly and local builds count as their releases."""

from kb.corpus.ledger import Ledgers, Record
from kb.verify.version_drift import drifts, newest, table


def record(torch, message, outcome="passed"):
    printed = f"Traceback (most recent call last):\n  File x\nRuntimeError: {message}\n"
    return Record(hash="h", outcome=outcome, printed=printed, seconds=1.0, date="2026-01-01", torch=torch, device="cpu")


LEDGERS = Ledgers(
    {
        "same": (record("2.13.0+cpu", "one 3"), record("2.4.1", "one 5")),
        "other words": (record("2.13.0+cpu", "new words"), record("2.4.1", "old words")),
        "other outcome": (record("2.13.0+cpu", "one"), record("2.4.1", "one", "failed")),
        "only new": (record("2.13.0+cpu", "one"),),
        "nightly": (record("2.12.0.dev20261101+cpu", "one"), record("2.4.1", "two")),
    }
)


def test_cases_that_differ_in_words_or_outcome():
    assert [drift.case for drift in drifts(LEDGERS, "2.4.1", "2.13.0")] == ["other outcome", "other words"]
    assert [drift.case for drift in drifts(LEDGERS, "2.4.1", "2.12.0")] == ["nightly"]


def test_the_newest_release_is_that_of_the_newest_version():
    assert newest(LEDGERS) == "2.13.0"


def test_the_table_is_markdown():
    assert "| other words | passed | `RuntimeError: new words` | `RuntimeError: old words` |\n" in table(
        LEDGERS, "2.4.1", "2.13.0"
    )
