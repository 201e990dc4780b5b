"""A case passes only when its programs really did what the entry says; every way to look as if they had is refused."""

from pathlib import Path

import pytest

from kb.corpus import load
from kb.index import open_index
from kb.ledger import case_hash
from kb.verify import select, to_record, verify

SAME_SIZE = "total = torch.ones(4) + torch.ones(4)\nassert total.shape == (4,)\n"
WRONG_SIZE = "total = torch.ones(3) + torch.ones(4)\n"
REPRO, FIX = "import torch\n\n" + WRONG_SIZE, "import torch\n\n" + SAME_SIZE


@pytest.fixture
def proved(tmp_path, good_entry):
    """Verify an entry whose text was changed; gives the verdict of its only case."""

    def run(*changes, **options):
        text = good_entry
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "entries" / "tensors" / "add-two.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        corpus = load([path.parent.parent])
        assert corpus.faults == ()
        done = verify(
            corpus, select(corpus), open_index([path.parent.parent], tmp_path / "cache"), backend="process", **options
        )
        return done, done.verdicts[0]

    return run


def what(verdict):
    return " ".join(text for _, text in verdict.faults)


def test_an_honest_case_passes_and_is_recorded(proved):
    done, verdict = proved()
    assert (verdict.outcome, verdict.faults, done.proved) == ("passed", (), True)
    found = to_record(verdict, done.environment)
    assert found.hash == case_hash(verdict.case)
    assert found.printed.rstrip().endswith(
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"
    )
    assert found.torch.startswith("2.")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (REPRO, REPRO.replace("3", "4"), "ran through"),
        (REPRO, REPRO.replace("torch.ones(4)", "None"), "no message of the entry matches"),
        (REPRO, "import sys\nsys.exit('RuntimeError: The size of tensor')\n", "no traceback of its own"),
        (REPRO, "import os\nos.abort()\n", "killed by signal"),
        (FIX, FIX.replace("== (4,)", "== (5,)"), "the fix fails: AssertionError"),
        (FIX, "import sys\nsys.exit(0)\n" + FIX, "before its last line"),
        (FIX, "import os\nos._exit(0)\n" + FIX, "before its last line"),
        (FIX, "import warnings\nwarnings.warn('careful')\n" + FIX, "emits a warning: UserWarning: careful"),
        (FIX, "import time\ntime.sleep(60)\n" + FIX, "stopped after"),
    ],
)
def test_what_only_looks_like_a_pass_fails(proved, before, after, said):
    _, verdict = proved((before, after), ("```python repro", "```python repro timeout=5"))
    assert verdict.outcome == "failed"
    assert said in what(verdict)


SILENT = (
    ("kind: error", "kind: silent"),
    (REPRO, "import torch\n\ntotal = torch.ones(3)\nassert total.shape == (4,)\n"),
)


def test_a_silent_case_passes_when_its_failing_assert_holds_in_the_fix(proved):
    assert proved(*SILENT)[1].outcome == "passed"


def test_the_assert_that_fails_must_be_the_one_in_the_fix(proved):
    _, verdict = proved(
        *SILENT,
        (
            "assert total.shape == (4,)\n```\n\n```python fix",
            "assert total.sum() == 4\nassert total.shape == (4,)\n```\n\n```python fix",
        ),
    )
    assert "does not stand in the fix" in what(verdict)


def test_an_assertion_error_from_elsewhere_proves_nothing(proved):
    _, verdict = proved(SILENT[0], (REPRO, "import unittest\nunittest.TestCase().assertTrue(False)\nassert 0\n"))
    assert "not come from an assert" in what(verdict)


def test_a_warning_case(proved):
    warns = (("kind: error", "kind: warning"), ("RuntimeError: The size of", "UserWarning: The size of"))
    _, verdict = proved(
        *warns,
        (
            REPRO,
            "import warnings\nwarnings.warn('The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0')\n",
        ),
    )
    assert (verdict.outcome, what(verdict)) == ("passed", "")
    _, verdict = proved((REPRO, "import torch\n"), ("kind: error", "kind: warning"))
    assert "no warning" in what(verdict)


def test_what_needs_another_machine_is_not_run_and_proves_nothing(proved):
    done, verdict = proved(("```python repro", "```python repro device=cuda"))
    assert (verdict.outcome, verdict.reason, verdict.repro) == ("not run here", "needs cuda", None)
    assert not done.proved


def test_a_case_that_needs_memory_held_is_not_run_as_a_plain_process(proved):
    _, verdict = proved(("```python repro", "```python repro shm=1m"))
    assert (verdict.outcome, verdict.reason) == (
        "not run here",
        "needs a sandbox that holds memory: docker or bubblewrap",
    )


def test_a_run_without_any_case_proves_nothing(proved):
    done, _ = proved()
    assert not type(done)((), done.environment).proved


def test_unknown_entries_are_refused():
    with pytest.raises(KeyError):
        select(load([Path("/nowhere")]), ["no-such-entry"])
