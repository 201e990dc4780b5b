"""Cases that are really run: a case passes only when its programs did what the entry says; every way to look as if they had is refused."""

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from kb.corpus.ledger import program_hash
from kb.corpus.loader import load
from kb.verify import case_jobs
from kb.verify.recording import to_record
from kb.verify.verifier import RunOptions, select, verify
from tests.entry_factory import CheckProgram
from tests.kb.verify.made_up import FIX, REPRO, SILENT_REPRO

pytestmark = pytest.mark.torch


@pytest.fixture
def proved(make_entry):
    """Verify an entry with other programs; gives the run and the verdict of its only case."""

    def run(isolation="entry", **programs):
        corpus, _, index = make_entry(**programs)
        done = verify(corpus, select(corpus), index, options=RunOptions(backend="process", isolation=isolation))
        return done, done.verdicts[0]

    return run


def faults(verdict):
    return " ".join(text for _, text in verdict.faults)


@pytest.mark.parametrize("isolation", ["entry", "corpus"])
def test_an_honest_case_passes_and_is_recorded(proved, isolation):
    done, verdict = proved(isolation)
    assert (verdict.outcome, verdict.faults, done.proved) == ("passed", (), True)
    record = to_record(verdict)
    assert record.hash == program_hash(verdict.subject)
    assert record.printed.rstrip().endswith(
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"
    )
    assert record.torch.startswith("2.")


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        ({"repro": REPRO.replace("3", "4")}, "ran through"),
        ({"repro": REPRO.replace("torch.ones(4)", "None")}, "no message of the entry matches"),
        ({"repro": "import sys\nsys.exit('RuntimeError: The size of tensor')\n"}, "no exception of its own"),
        ({"repro": "import os\nos.abort()\n"}, "killed by signal"),
        ({"fix": FIX.replace("== (4,)", "== (5,)")}, "the fix fails: AssertionError"),
        ({"fix": "import sys\nsys.exit(0)\n" + FIX}, "before its last line"),
        ({"fix": "import os\nos._exit(0)\n" + FIX}, "before its last line"),
        ({"fix": "import warnings\nwarnings.warn('careful')\n" + FIX}, "emits a warning: UserWarning: careful"),
        ({"fix": "import time\ntime.sleep(60)\n" + FIX}, "stopped after"),
    ],
)
def test_what_only_looks_like_a_pass_fails(proved, programs, said):
    _, verdict = proved("corpus", attributes="timeout=5", **programs)
    assert verdict.outcome == "failed"
    assert said in faults(verdict)


def test_what_failed_beside_others_runs_once_more_alone(proved, tmp_path):
    mark = tmp_path / "was here"
    once = f"from pathlib import Path\nmark = Path({str(mark)!r})\nhere = mark.exists()\nmark.touch()\nassert here\n"
    done, verdict = proved("corpus", fix=once + FIX)
    assert (verdict.outcome, verdict.attempts, len(done.verdicts)) == ("passed", 2, 1)


def test_a_silent_case_passes_when_its_failing_assert_holds_in_the_fix(proved):
    _, verdict = proved(repro=SILENT_REPRO, kind="silent")
    assert (verdict.outcome, verdict.faults) == ("passed", ())


def test_a_warning_case_passes_when_the_library_warns(proved):
    options = {
        "kind": "warning",
        "message": "UserWarning: To copy construct from a tensor, it is recommended to use {text}",
        "repro": "import torch\n\nx = torch.ones(2)\ny = torch.tensor(x)\n",
        "fix": "import torch\n\nx = torch.ones(2)\ny = x.clone()\nassert y.sum() == 2\n",
    }
    _, verdict = proved(**options)
    assert (verdict.outcome, verdict.faults) == ("passed", ())


def test_static_checks_fail_a_case_that_runs_as_it_should(proved):
    fix = "import torch\n\ntotal = torch.ones(4) + torch.ones(4)\nassert total.shape == total.shape\n"
    _, verdict = proved("corpus", fix=fix)
    assert faults(verdict).startswith("KB021 ")
    assert verdict.faults[0][0] == verdict.subject.fix.line + 3


@pytest.mark.parametrize(("torch", "outcome"), [(">=2.0", "passed"), ("<2.0", "failed")])
def test_an_exemption_of_a_range_holds_for_its_versions(proved, tmp_path, torch, outcome):
    fix = "import torch\n\ntotal = torch.tensor(torch.ones(4))\nassert total.shape == (4,)\n"
    exemption = f"- entry: add-two\n  rule: KB082\n  torch: '{torch}'\n  reason: The library warns.\n"
    Path(tmp_path, "entries").mkdir(exist_ok=True)
    Path(tmp_path, "entries", "exemptions.yaml").write_text(exemption, "utf-8")
    assert proved("corpus", fix=fix)[1].outcome == outcome


def test_an_exemption_of_the_folder_holds(proved, tmp_path):
    fix = "import gc\nimport torch\n\nseen = len(gc.get_objects())\ntotal = torch.ones(4) + torch.ones(4)\nassert total.shape == (4,)\n"
    assert "KB024" in faults(proved("corpus", fix=fix)[1])
    exemption = "- entry: add-two\n  rule: KB024\n  reason: It counts objects.\n"
    Path(tmp_path, "entries", "exemptions.yaml").write_text(exemption, "utf-8")
    assert proved("corpus", fix=fix)[1].outcome == "passed"


def test_what_needs_another_machine_is_not_run_and_proves_nothing(proved):
    done, verdict = proved(attributes="device=cuda")
    assert (verdict.outcome, verdict.reason, verdict.outcomes) == ("not run here", "needs cuda", {})
    assert not done.proved


@pytest.mark.parametrize("torch", ["", "2.13.0"])
def test_a_case_of_other_versions_is_not_run_and_not_judged(make_entry, torch):
    corpus, _, index = make_entry(attributes="torch<1.5", repro=REPRO.replace("3", "4"))
    options = RunOptions(backend="process", isolation="corpus", torch=torch)
    (verdict,) = verify(corpus, select(corpus), index, options=options).verdicts
    assert (verdict.outcome, verdict.reason, verdict.environment) == ("not run here", "needs torch <1.5", None)


@pytest.mark.parametrize(
    ("torch", "reason"),
    [("2.13.0+cpu", ""), ("2.13.0", ""), ("2.15.0+cu132", "needs a build of torch for the CPU alone")],
)
def test_what_only_the_build_for_the_cpu_lacks_is_not_run_on_another(make_entry, torch, reason):
    _, entry, _ = make_entry(attributes="build=cpu")
    assert case_jobs.not_runnable(entry.cases[0], "cpu", "process", torch) == reason


def test_a_case_of_this_version_is_run(proved):
    assert proved("corpus", attributes="torch>=2.0")[0].proved
    assert proved("corpus", attributes="torch!=1.13.*")[0].proved


def test_a_case_that_needs_memory_held_is_not_run_as_a_plain_process(proved):
    _, verdict = proved(attributes="shm=1m")
    assert (verdict.outcome, verdict.reason) == (
        "not run here",
        "needs a sandbox that holds memory: docker or bubblewrap",
    )


def test_a_case_that_requires_packages_runs_where_a_person_says_that_they_are(make_entry):
    corpus, _, index = make_entry(requires=["no-such-package"])
    (waiting,) = verify(corpus, select(corpus), index, options=RunOptions(backend="process")).verdicts
    assert (waiting.outcome, waiting.reason) == ("not run here", "no environment has no-such-package")
    options = RunOptions(backend="process", isolation="corpus", python=sys.executable)
    assert verify(corpus, select(corpus), index, options=options).proved
    (bare,) = verify(corpus, select(corpus), index, options=dataclasses.replace(options, bare=True)).verdicts
    assert bare.reason == "needs no-such-package beside another torch"


def test_an_entry_that_may_warn_passes_with_a_warning(proved, tmp_path):
    fix = "import torch\n\ntotal = torch.tensor(torch.ones(4))\nassert total.shape == (4,)\n"
    assert "KB082 the fix emits a warning" in faults(proved("corpus", fix=fix)[1])
    exemption = "- entry: add-two\n  rule: KB082\n  reason: The library always warns.\n"
    Path(tmp_path, "entries", "exemptions.yaml").write_text(exemption, "utf-8")
    assert proved("corpus", fix=fix)[1].outcome == "passed"


@pytest.fixture
def verify_check(make_entry):
    """Verify an entry that has a check besides its case; gives the run and the verdict on the check."""

    def run(program, attributes=""):
        corpus, _, index = make_entry(checks=[CheckProgram("shapes", attributes, program)])
        done = verify(corpus, select(corpus, ["add-two/shapes"]), index, options=RunOptions(backend="process"))
        return done, done.verdicts[0]

    return run


def test_a_check_that_prints_passes_and_its_output_is_recorded(verify_check):
    done, verdict = verify_check("import torch\n\nprint(torch.ones(3).shape)\n")
    assert (verdict.outcome, verdict.faults, done.proved) == ("passed", (), True)
    record = to_record(verdict)
    assert (record.hash, record.printed) == (program_hash(verdict.subject), "torch.Size([3])\n")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import torch\n\ntorch.ones(3)\n", "prints nothing"),
        ("import sys\n\nprint('x', file=sys.stderr)\n", "prints nothing"),
        ("import torch\n\nprint(1)\ntorch.ones(3) + torch.ones(4)\n", "the check fails: RuntimeError: The size of"),
        (
            "import torch\n\nx = torch.ones(2)\nprint(torch.tensor(x))\n",
            "emits a warning: UserWarning: To copy construct",
        ),
        ("import sys\n\nprint(1)\nsys.exit(0)\n", "ended before its last line"),
        ("import gc\n\nprint(len(gc.get_objects()))\n", "KB024 the check uses get_objects"),
    ],
)
def test_a_check_must_run_to_its_end_and_print_without_a_warning(verify_check, program, said):
    _, verdict = verify_check(program)
    assert verdict.outcome == "failed"
    assert said in faults(verdict)


def test_a_check_may_raise_and_word_errors_of_its_own(verify_check):
    program = "try:\n    raise RuntimeError('no size')\nexcept RuntimeError as error:\n    print(error)\n"
    assert verify_check(program)[1].outcome == "passed"


def test_a_check_has_attributes_as_a_case_has(verify_check):
    done, verdict = verify_check("print(1)\n", "device=cuda")
    assert (verdict.outcome, verdict.reason, done.proved) == ("not run here", "needs cuda", False)


def test_an_entry_is_run_with_its_checks(make_entry):
    corpus, _, _ = make_entry(checks=[CheckProgram()])
    assert [subject.id for subject in select(corpus, ["add-two"])] == ["add-two/sizes", "add-two/shapes"]
    assert [subject.id for subject in select(corpus)] == ["add-two/sizes", "add-two/shapes"]


def test_a_run_without_any_case_proves_nothing(proved):
    done, _ = proved()
    assert not type(done)((), done.environment).proved


def test_unknown_entries_are_refused():
    with pytest.raises(KeyError):
        select(load([Path("/nowhere")]), ["no-such-entry"])


@pytest.mark.parametrize(("gpus", "reason"), [(1, "needs cuda with 2 GPUs, and here is one"), (2, "")])
def test_a_case_for_more_gpus_than_there_are_is_not_run(make_entry, tmp_path, monkeypatch, gpus, reason):
    driver = tmp_path / "nvidia-smi"
    driver.write_text(f"#!/bin/sh\nseq {gpus}\n")
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    case_jobs._gpus_here.cache_clear()
    _, entry, _ = make_entry(attributes="gpus=2")
    assert case_jobs.not_runnable(entry.cases[0], "cuda", "process") == reason
    case_jobs._gpus_here.cache_clear()
