"""A change that is shown on the reader's own line is made in the repro, and the judge takes the program in which it is made where the repro fails."""

import pytest

from kb.corpus.entry import Block, Case, Edit
from kb.verify.edited import edited_programs
from kb.verify.judge import EditedOutcome, judge
from sandbox import Outcome
from tests.kb.verify.made_up import failed, finished, own, raised

EDIT = {"case": "sizes", "from": "torch.ones(3)", "to": "torch.ones(4)"}


class Entry:
    """An entry with nothing but edits."""

    def __init__(self, *edits):
        self.edits = edits


def sources(repro, before, after):
    made = edited_programs(
        Entry(Edit("case", before, after)), Case("slug", "case", repro=Block(repro, 1), fix=Block("", 1))
    )
    return [(program.lines, dict(program.values), program.source) for program in made]


def test_there_is_a_program_for_each_statement_that_the_change_fits():
    repro = "import torch\n\na = torch.ones(3)\nif a.sum():\n    b = torch.ones(\n        3\n    )\n"
    assert sources(repro, "torch.ones(3)", "torch.ones(4)") == [
        ((3, 3), {}, repro.replace("a = torch.ones(3)", "a = torch.ones(4)")),
        ((5, 7), {}, repro.replace("torch.ones(\n        3\n    )", "torch.ones(4)")),
    ]


def test_of_a_statement_with_a_block_only_the_head_is_changed():
    repro = "for batch in loader.next():\n    use(loader.next())\n"
    assert [lines for lines, _, _ in sources(repro, "$X.next()", "next($X)")] == [(1, 1), (2, 2)]


def test_a_value_of_the_message_is_each_name_of_the_statement():
    made = sources("use(model.fc.weight)\n", "$MODEL.$attribute", "$MODEL.module.$attribute")
    assert [(values, source) for _, values, source in made] == [
        ({"attribute": "fc"}, "use(model.module.fc.weight)\n"),
        ({"attribute": "weight"}, "use(model.fc.module.weight)\n"),
    ]


@pytest.fixture
def faults(make_entry):
    """Judge the good entry with a change: how its repro ended with it, and without it (`outcome`)."""

    def run(changed, edit=EDIT, outcome=None, **fields):
        _, entry, index = make_entry(expression_edits=[edit], **fields)
        (case,) = entry.cases
        edited = [EditedOutcome(program, changed) for program in edited_programs(entry, case)]
        verdict = judge(entry, case, index, outcome or failed(), finished(), edited=edited)
        return " ".join(text for _, text in verdict.faults)

    return run


def test_a_change_with_which_the_repro_runs_passes(faults):
    assert faults(finished()) == ""


@pytest.mark.parametrize(
    "changed", [failed(), failed(raised("TypeError", "no")), Outcome("program", "exit", exit_code=0)]
)
def test_a_change_with_which_the_repro_does_not_run_fails(faults, changed):
    assert "the repro does not run" in faults(changed)


def test_a_change_of_another_line_than_the_failing_one_fails(faults):
    repro = "import torch\n\ntotal = torch.ones(3)\ntotal += torch.ones(4)\n"
    outcome = failed(raised(frames=[own(4)]))
    assert "does not match line 4" in faults(finished(), outcome=outcome, repro=repro)
    assert faults(finished(), {**EDIT, "from": "torch.ones(4)", "to": "torch.ones(3)"}, outcome, repro=repro) == ""


def test_a_change_after_which_the_warning_is_still_printed_fails(faults):
    line = "/tmp/run/program.py:3: UserWarning: the size 3 of this tensor is odd\n  total = torch.ones(3)\n"
    fields = {"kind": "warning", "message": "UserWarning: the size {size:int} of this tensor is odd"}
    assert "still warns" in faults(finished(line), outcome=finished(line), **fields)
    assert "still warns" not in faults(finished(), outcome=finished(line), **fields)


def test_a_warning_that_names_a_line_of_the_library_may_be_that_of_any_line(faults):
    line = "/venv/torch/optim.py:1322: UserWarning: the size 3 of this tensor is odd\n  warnings.warn(text)\n"
    fields = {"kind": "warning", "message": "UserWarning: the size {size:int} of this tensor is odd"}
    assert "does not match" not in faults(finished(), outcome=finished(line), **fields)
    assert "still warns" in faults(finished(line), outcome=finished(line), **fields)
