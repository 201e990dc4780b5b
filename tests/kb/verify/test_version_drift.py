"""What releases of torch word otherwise is read from their ledgers; nightly and local builds count as their releases."""

from kb.corpus.ledger import Ledgers, Record, load_ledgers
from kb.verify.version_drift import changes, printed_by, release_runs, table


def record(torch, message, outcome="passed", hash_="h"):
    printed = f"Traceback (most recent call last):\n  File x\nRuntimeError: {message}\n"
    return Record(
        hash=hash_, outcome=outcome, printed=printed, seconds=1.0, date="2026-01-01", torch=torch, device="cpu"
    )


LEDGERS = Ledgers(
    {
        "an address": (record("2.13.0+cpu", "at 0x7f61 of rank"), record("2.4.1", "at 0x55ac of rank")),
        "another program": (record("2.13.0+cpu", "new words", hash_="g"), record("2.4.1", "old words")),
        "nightly": (record("2.12.0.dev20261101+cpu", "one"), record("2.4.1", "two")),
        "only new": (record("2.13.0+cpu", "one"),),
        "other outcome": (record("2.13.0+cpu", "one"), record("2.4.1", "one", "failed")),
        "other words": (record("2.13.0+cpu", "new words"), record("2.4.1", "old words")),
        "same": (record("2.13.0+cpu", "one 3"), record("2.4.1", "one 5")),
    }
)


def test_cases_that_differ_in_words_or_outcome():
    assert [change.case for change in changes(LEDGERS, "2.4.1", "2.13.0")] == ["other outcome", "other words"]
    assert [change.case for change in changes(LEDGERS, "2.4.1", "2.12.0")] == ["nightly"]


def test_each_release_is_compared_with_the_one_before():
    runs = release_runs(LEDGERS)
    assert [(run.release, run.previous) for run in runs] == [("2.13.0", "2.12.0"), ("2.12.0", "2.4.1"), ("2.4.1", "")]
    assert [(run.passed, run.failed, len(run.changes)) for run in runs] == [(6, 0, 0), (1, 0, 1), (5, 1, 0)]


def test_the_table_is_markdown():
    assert "| other words | passed | passed | `RuntimeError: old words` | `RuntimeError: new words` |\n" in table(
        LEDGERS, "2.4.1", "2.13.0"
    )


def test_a_message_is_printed_by_the_releases_whose_ledgers_have_it(entries):
    old, new = "RuntimeError: the width {int} is too wide", "RuntimeError: width {int} exceeds {int}"
    entries.write("wide", messages=[new, old])
    for torch, message in (("2.4.1", "the width 5 is too wide"), ("2.13.0+cpu", "width 5 exceeds 4")):
        entries.record("wide", torch=torch, printed=f"Traceback (most recent call last):\nRuntimeError: {message}\n")
    printed = printed_by(entries.corpus().entries["wide"], load_ledgers([entries.folder]))
    assert printed.releases == ("2.4.1", "2.13.0")
    assert {message.text: set(names) for message, names in printed.by_message} == {new: {"2.13.0"}, old: {"2.4.1"}}
