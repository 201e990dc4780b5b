"""Reports say what failed where, and no text from a program or a file name is read as a command, a tag or a terminal sequence."""

import dataclasses
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kb.corpus.loader import Corpus
from kb.lint.static_checks.review_notes import review_notes
from kb.verify.report import failure_lines, fault_annotations, junit, review_annotations, table_lines
from kb.verify.results import Run, Verdict
from tests.kb.verify.made_up import failed, finished, raised

ODD = "a\x00b\x0cc\x1b[31md\ufffe\uffffe\ud800f\U0001ffffg & <tag> ]]> \u202e%::error::x\n##[error]y\r\nz"


@pytest.fixture
def run_of(make_entry):
    def make(*verdicts):
        corpus, entry, _ = make_entry()
        (case,) = entry.cases
        return Run(tuple(Verdict(case, *options[0], **options[1]) for options in verdicts), None), corpus

    return make


def test_a_table_of_topics_with_reasons(run_of):
    run, corpus = run_of((("passed",), {}), (("not run here",), {"reason": "needs cuda"}))
    lines = list(table_lines(run, corpus))
    assert re.search(r"^tensors +1 +0 +1$", lines[1])
    assert lines[-1] == "not run here: 1 needs cuda"


def test_the_end_of_a_log_names_what_failed(run_of):
    run, corpus = run_of((("failed", ((3, "no"),)), {}), (("passed",), {"attempts": 2}), (("failed",), {"attempts": 2}))
    assert list(table_lines(run, corpus))[-2:] == [
        "failed, then passed alone: add-two/sizes",
        "failed: add-two/sizes, add-two/sizes",
    ]


def test_a_junit_file_can_be_read_whatever_was_printed(run_of, tmp_path):
    outcome = failed(raised(message=ODD), stderr=ODD, stdout=ODD)
    run, _ = run_of(
        (("failed", ((3, ODD),)), {"outcomes": {"repro": outcome}}),
        (("not run here",), {"reason": ODD}),
        (("passed",), {}),
    )
    junit(run, tmp_path / "run.xml")
    suite = ET.parse(tmp_path / "run.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    message = suite.find("testcase/failure").get("message")
    assert "d\ufffd\ufffde\ufffdf" in message
    assert "& <tag> ]]>" in message
    assert "\x1b" not in suite.find("testcase/failure").text


def test_a_failure_is_one_line_with_the_end_of_what_was_printed(run_of):
    run, _ = run_of(
        (
            ("failed", ((3, "no\nmessage"),)),
            {"outcomes": {"repro": failed(stderr="x\n" * 40 + "last"), "fix": finished("w\n")}},
        )
    )
    lines = list(failure_lines(run.verdicts[0], "entries/x.md"))
    assert lines[0] == "entries/x.md:3: add-two/sizes: no message"
    assert lines[1] == "    repro stderr: …"
    assert lines[13] == "    | last"
    assert lines[14:] == ["    fix stderr:", "    | w"]


def test_an_annotation_is_one_command(run_of):
    run, corpus = run_of((("failed", ((3, ODD), (4, "b"))), {}))
    first, second = fault_annotations(run, corpus)
    assert re.fullmatch(r"::error file=[^,:\n]+,line=3,title=add-two/sizes::[^\r\n\x00-\x1f]*", first)
    assert "%25" in first
    assert "%0A" in first
    assert second.endswith("line=4,title=add-two/sizes::b")


def test_names_cannot_add_properties_or_commands(run_of):
    run, corpus = run_of((("failed", ((3, "x"),)), {}))
    entry = dataclasses.replace(corpus.entries["add-two"], path=Path("a,line=1::b%\n::error::c"))
    corpus = Corpus({"add-two": entry})
    (line,) = fault_annotations(run, corpus)
    assert line.startswith("::error file=a%2Cline=1%3A")
    assert line.count("\n") == 0
    assert line.count("::error") == 1


REVIEW = [
    ("import subprocess\nsubprocess.run(['ls'])", [(2, "calls subprocess.run")]),
    ("from subprocess import run as go\ngo(['ls'])", [(2, "calls subprocess.run")]),
    ("from pathlib import Path\nPath('a').write_text('x')", [(2, "uses a file or folder by write_text")]),
    ("open('a')", [(1, "uses a file or folder by open")]),
    ("import torch\ntorch.backends.cudnn.benchmark = True", [(2, "sets torch.backends.cudnn.benchmark")]),
    ("import torch\ntorch.load('a', weights_only=False)", [(2, "may load a pickle by load")]),
    ("x = 1\nhasattr(x, 'real')", [(2, "reaches an attribute by its name in a text")]),
    (f"text = '{'x' * 100}'", [(1, "has a text of 100 characters")]),
    (f"data = b'{'x' * 40}'", [(1, "has 40 bytes")]),
    (f"data = {list(range(30))}", [(1, "has a literal of 30 elements")]),
    ("try:\n    pass\nexcept ValueError:\n    pass", [(1, "handles exceptions")]),
    ("import sys\nsys.path.insert(0, 'x')", [(2, "calls sys.path.insert, changes or reads sys.path")]),
    ("import torch\nx = torch.ones(3)\nprint(x)\nfor row in x:\n    row += 1\nassert x.sum() == 6", []),
    ("import math, itertools\nmath.sqrt(4)\nlist(itertools.chain([1]))", []),
]


@pytest.mark.parametrize(("source", "notes"), REVIEW)
def test_lines_that_a_reviewer_has_to_read(source, notes):
    assert review_notes(source) == notes


def test_lines_to_read_are_annotated_at_their_place_in_the_file(make_entry):
    corpus, entry, _ = make_entry(
        fix="import os\nimport torch\n\nos.rename('a', 'b')\ntotal = torch.ones(4)\nassert total.shape == (4,)\n"
    )
    (line,) = review_annotations(entry.cases, corpus)
    at = entry.source.split("\n").index("os.rename('a', 'b')") + 1
    assert line.startswith("::notice file=")
    assert line.endswith(f",line={at},title=add-two/sizes::Read this line: the fix calls os.rename.")
