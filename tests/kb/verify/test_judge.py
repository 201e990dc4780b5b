"""The judge decides by how programs ended and what their process held; what they print alone convinces it of nothing."""

import pytest

from kb.verify.judge import MutantOutcome, judge
from kb.verify.mutants import mutants
from sandbox import Frame, Outcome, Raised
from tests.kb.verify.made_up import MESSAGE, SILENT_REPRO, failed, finished, library, own, raised

PRINTED = (
    f'Traceback (most recent call last):\n  File "/tmp/run/program.py", line 3, in <module>\nRuntimeError: {MESSAGE}\n'
)
ASSERTION = raised("AssertionError", "", [own(4)])


@pytest.fixture
def verdict_on(make_entry):
    """Judge outcomes of an entry's only case; gives the text of all faults. `programs` says how the entry differs from the good one."""

    def run(repro, fix=None, changed=None, programs=None):
        _, entry, index = make_entry(**(programs or {}))
        (case,) = entry.cases
        made = mutants(case, entry.kind)
        outcomes = [MutantOutcome(*pair) for pair in zip(made, changed, strict=True)] if changed else ()
        verdict = judge(entry, case, index, repro, finished() if fix is None else fix, outcomes)
        assert (verdict.outcome == "passed") == (not verdict.faults)
        return " ".join(text for _, text in verdict.faults)

    return run


NEGATED = failed(raised("AssertionError", "", [own(3)]))


def test_an_honest_error_passes(verdict_on):
    assert verdict_on(failed()) == ""
    assert verdict_on(failed(raised(frames=[own(3), library()]))) == ""
    assert verdict_on(failed(), changed=[NEGATED, failed()]) == ""


@pytest.mark.parametrize(
    ("repro", "said"),
    [
        (finished(), "ran through"),
        (finished(PRINTED), "ran through"),
        (Outcome("p", "exit", exit_code=1, stderr=PRINTED), "no exception of its own ended it"),
        (Outcome("p", "time", seconds=5.0, stderr=PRINTED), "stopped after 5.0 s"),
        (Outcome("p", "signal", signal=6), "killed by signal 6"),
        (Outcome("p", "memory"), "out of memory"),
        (Outcome("p", "output"), "too much output"),
        (Outcome("p", "pids"), "too many processes"),
        (Outcome("p", "refused", detail="no image"), "not run (no image)"),
        (failed(raised("KeyError", "'a'"), stderr=PRINTED), "no message of the entry matches"),
        (failed(raised("ValueError", MESSAGE)), "no message of the entry matches"),
        (failed(raised(message="it printed " + MESSAGE)), "no message of the entry matches"),
        (failed(raised("__main__.Failed", MESSAGE)), "no message of the entry matches"),
    ],
)
def test_a_repro_must_end_in_the_error_itself(verdict_on, repro, said):
    assert said in verdict_on(repro)


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ([], "passed no line of the program"),
        ([library()], "passed no line of the program"),
        ([own(1), own(2)], "uses nothing of the library"),
        ([own(99)], "uses nothing of the library"),
        ([own(3), Frame("other", "", 1, "<module>")], "code that the program made while it ran"),
        ([own(3), Frame("beside", "", 2, "add", "raise RuntimeError(text)")], "raises the error itself"),
        ([own(3), Frame("beside", "", 2, "add", "def broken(")], "cannot be read"),
    ],
)
def test_an_error_must_come_from_the_library(verdict_on, frames, said):
    assert said in verdict_on(failed(raised(frames=frames)))


def test_an_error_may_come_through_generated_code_of_a_library_or_a_written_module(verdict_on):
    assert verdict_on(failed(raised(frames=[own(3), library(), Frame("other", "", 4, "forward")]))) == ""
    written = Frame("beside", "", 2, "<module>", "total = torch.ones(3) + torch.ones(4)")
    assert verdict_on(failed(raised(frames=[own(3), written]))) == ""


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        (["json.decoder"], "passed none of peft"),
        (["peft.peft_model", "json.decoder"], ""),
        (["torch.nn.modules.linear"], ""),
    ],
)
def test_the_error_of_an_entry_that_requires_packages_comes_through_them_or_torch(verdict_on, modules, said):
    frames = [own(3), *map(library, modules)]
    text = verdict_on(failed(raised(frames=frames)), programs={"requires": ["peft"]})
    assert said in text if said else text == ""


def test_a_raise_statement_of_the_repro_is_not_the_library(verdict_on):
    repro = "import torch\n\nraise RuntimeError(torch.ones(1))\n"
    assert "line 3 of the repro raises the error itself" in verdict_on(failed(), programs={"repro": repro})


def test_an_error_that_a_worker_reports_counts(verdict_on):
    quoted = f"Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n  File x\nRuntimeError: {MESSAGE}\n"
    assert verdict_on(failed(raised(message=quoted, frames=[own(3), library()]))) == ""
    caused = raised("ValueError", "worse", causes=[("RuntimeError", MESSAGE)])
    assert verdict_on(failed(caused, stderr=PRINTED)) == ""


def test_what_another_process_printed_counts_only_where_a_library_that_starts_processes_failed(verdict_on):
    exited = raised("ChildFailedError", "exit code 1", [own(3), library("torch.distributed.run")])
    assert verdict_on(failed(exited, stderr=PRINTED)) == ""
    assert "no message" in verdict_on(failed(raised("ValueError", "no", [own(3)]), stderr=PRINTED))
    assert "no message" in verdict_on(
        failed(raised("ValueError", "no", [own(3), library("torch.nn.modules.linear")]), stderr=PRINTED)
    )


def test_the_fix_must_not_run_the_failing_statement_and_handle_its_error(verdict_on):
    fix = "import torch\n\ntotal = torch.ones(4)\ntry:\n    total = torch.ones(3) + torch.ones(4)\nexcept RuntimeError:\n    pass\n"
    fix += "assert total.shape == (4,)\n"
    assert "handles its error" in verdict_on(failed(), programs={"fix": fix})


@pytest.mark.parametrize(
    ("fix", "said"),
    [
        (failed(raised("AssertionError", "")), "the fix fails: AssertionError"),
        (Outcome("p", "exit", exit_code=0), "before its last line"),
        (Outcome("p", "exit", exit_code=3), "the fix fails: exit status 3"),
        (Outcome("p", "time", seconds=5.0), "the fix fails: stopped after 5.0 s"),
        (finished("/x/torch/a.py:3: UserWarning: careful\n  a()\n"), "emits a warning: UserWarning: careful"),
        (
            finished("[W1121 07:00:00.1 Module.cpp:12] Warning: careful (function f)\n"),
            "emits a warning: Warning: careful",
        ),
    ],
)
def test_a_fix_must_run_through_without_a_warning(verdict_on, fix, said):
    assert said in verdict_on(failed(), fix)


def test_a_fix_must_assert_something_at_its_top_level(verdict_on):
    fix = "import torch\n\ntotal = torch.ones(4) + torch.ones(4)\nif total.sum() > 0:\n    assert total.shape == (4,)\n"
    assert "asserts nothing at its top level" in verdict_on(failed(), programs={"fix": fix})


@pytest.mark.parametrize(
    "negated",
    [
        finished(),
        Outcome("p", "exit", exit_code=0),
        failed(raised("AssertionError", "", [own(2)])),
        failed(raised("AssertionError", "", [own(3, "check")])),
        failed(raised("AssertionError", "", [own(3), own(1, "check")])),
        failed(raised("AssertionError", "", [own(3), library("unittest")])),
        failed(raised("__main__.AssertionError", "", [own(3)])),
        failed(raised("ZeroDivisionError", "AssertionError", [own(3)])),
        failed(raised("AssertionError", "", [])),
        Outcome("p", "exit", exit_code=1, stderr="AssertionError\n"),
        Outcome("p", "time", raised=raised("AssertionError", "", [own(3)])),
        failed(raised("AssertionError", "", [own(3)]), exit_code=0),
    ],
)
def test_an_assert_turned_round_must_fail_itself(verdict_on, negated):
    assert "this assert proves nothing" in verdict_on(failed(), changed=[negated, failed()])


@pytest.mark.parametrize(
    "restored", [finished(), failed(raised("KeyError", "'a'")), failed(ASSERTION), Outcome("p", "time")]
)
def test_a_fix_with_its_changes_taken_back_must_fail_as_the_repro_does(verdict_on, restored):
    assert "changes are not what makes the difference" in verdict_on(failed(), changed=[NEGATED, restored])


def test_what_is_printed_must_lead_to_the_entry(verdict_on):
    assert "finds no entry" in verdict_on(failed(stderr="nothing of use\n"))


SILENT = {"repro": SILENT_REPRO, "kind": "silent"}


SYMPTOM = {"repro": SILENT_REPRO, "kind": "symptom", "messages": []}


@pytest.mark.parametrize("programs", [SILENT, SYMPTOM])
def test_an_honest_silent_case_passes_and_one_of_a_symptom(verdict_on, programs):
    assert verdict_on(failed(ASSERTION), programs=programs) == ""
    assert verdict_on(failed(ASSERTION), changed=[NEGATED, failed(NEGATED.raised)], programs=programs) == ""
    assert "must end in AssertionError" in verdict_on(failed(), programs=programs)


def test_what_a_silent_repro_prints_has_no_other_answer_but_for_a_warning_that_it_may_emit(entries, make_entry):
    warning = "The default of the argument `weights` will be flipped in another release."
    entries.write("flipped", kind="warning", messages=[f"FutureWarning: {warning}"])
    _, entry, index = make_entry(kind="silent", messages=[], repro=SILENT_REPRO)
    warned = f"/tmp/run/program.py:3: FutureWarning: {warning}\n  total = torch.ones(3)\n"
    repro = failed(ASSERTION, stderr=warned + failed(ASSERTION).stderr)
    (case,) = entry.cases
    verdict = judge(entry, case, index, repro, finished())
    assert [text for _, text in verdict.faults] == ["what the repro prints is answered with flipped (likely)"]
    assert judge(entry, case, index, repro, finished(), may_warn=True).outcome == "passed"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (raised("KeyError", "'a'"), "must end in AssertionError, not KeyError"),
        (raised("AssertionError", "", [own(3)]), "does not come from an assert"),
        (raised("AssertionError", "", [own(3), library("unittest")]), "does not come from an assert"),
        (Raised("AssertionError", ""), "does not come from an assert"),
    ],
)
def test_a_silent_repro_must_fail_at_an_assert_of_its_own(verdict_on, error, said):
    assert said in verdict_on(failed(error), programs=SILENT)


def test_the_assert_that_failed_must_be_in_the_fix_where_nothing_catches_it(verdict_on):
    repro = SILENT_REPRO.replace("assert", "assert total.sum() == 4\nassert")
    assert "does not stand in the fix" in verdict_on(failed(ASSERTION), programs=SILENT | {"repro": repro})
    fix = "import torch\n\ntotal = torch.ones(3)\ntry:\n    assert total.shape == (4,)\nexcept AssertionError:\n    pass\nassert total.sum() == 3\n"
    assert "does not stand in the fix" in verdict_on(failed(ASSERTION), programs=SILENT | {"fix": fix})


def test_the_assert_that_failed_must_test_what_came_from_a_call(verdict_on):
    repro = "import torch\n\nexpected = 3\nassert expected == 4\n"
    fix = "import torch\n\nexpected = 4\nassert expected == 4\n"
    assert "tests nothing that came from a call" in verdict_on(
        failed(ASSERTION), programs={"repro": repro, "fix": fix, "kind": "silent"}
    )
    measured = "import resource\nimport torch\nused = resource.getrusage(0).ru_maxrss\nassert used == 4\n"
    assert verdict_on(failed(ASSERTION), programs={"repro": measured, "fix": measured + "\n", "kind": "silent"}) == ""


def test_a_restored_silent_fix_must_fail_at_the_shared_assert(verdict_on):
    elsewhere = failed(raised("AssertionError", "", [own(1)]))
    assert "changes are not" in verdict_on(failed(ASSERTION), changed=[NEGATED, elsewhere], programs=SILENT)


WARNS = {
    "kind": "warning",
    "message": "UserWarning: it is recommended to use {name} instead of {name}",
    "repro": "import torch\n\nx = torch.ones(2)\ny = torch.tensor(x)\nsize = 3\n",
}
TEXT = "UserWarning: it is recommended to use clone instead of tensor\n  y = torch.tensor(x)\n"


@pytest.mark.parametrize("place", ["/tmp/run/program.py:4: ", "/opt/site-packages/torch/_tensor.py:9: ", ""])
def test_an_honest_warning_passes(verdict_on, place):
    assert verdict_on(finished(place + TEXT), programs=WARNS) == ""


@pytest.mark.parametrize(
    ("repro", "said"),
    [
        (finished(), "no warning"),
        (finished("UserWarning: something else\n"), "UserWarning: something else"),
        (finished("DeprecationWarning: it is recommended to use a instead of b\n"), "no message of the entry matches"),
        (finished("/tmp/run/program.py:5: " + TEXT), "uses nothing of the library"),
        (finished("/tmp/run/program.py:99: " + TEXT), "uses nothing of the library"),
        (Outcome("p", "exit", exit_code=0, stderr=TEXT), "must run through"),
        (failed(stderr=TEXT), "must run through"),
    ],
)
def test_a_warning_must_come_from_the_library_and_the_repro_run_through(verdict_on, repro, said):
    assert said in verdict_on(repro, programs=WARNS)


DEVICE_ASSERT = "Assertion `t >= 0 && t < n_classes` failed."


@pytest.mark.parametrize(
    ("message", "passes"), [("CUDA error: device-side assert triggered\nmore", True), ("no", False)]
)
def test_what_a_gpu_printed_counts_where_an_assert_of_it_ended_the_program(verdict_on, message, passes):
    stderr = f"/a/Loss.cu:1: kernel: block: [0,0,0], thread: [0,0,0] {DEVICE_ASSERT}\n{PRINTED}"
    error = raised("torch.AcceleratorError", message, [own(3), library()])
    said = verdict_on(failed(error, stderr=stderr), programs={"message": DEVICE_ASSERT})
    assert ("no message" not in said) == passes


def test_a_message_that_breaks_the_rules_of_templates_matches_nothing_and_stops_nothing(verdict_on):
    assert "no message of the entry matches" in verdict_on(
        failed(), programs={"messages": ["RuntimeError: {a:nothing} b"]}
    )
