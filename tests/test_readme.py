"""What the README shows is what the commands print; a line `…` stands for lines left out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kb.corpus.ledger import load_ledgers
from kb.corpus.versions import release, sort_key
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.torch

README = (REPOSITORY / "README.md").read_text("utf-8")
EXAMPLES = [
    (command, output)
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for command, output in re.findall(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE)
]


CHANGES = (  # what differs between two machines or two days
    (r"\d{4}-\d\d-\d\d", "DATE"),
    (r"torch \d+\.\d+\.\d+(\+\w+)?", "torch VERSION"),
    (r"in (docker|bubblewrap|process)\b.*, [\d.]+ s$", "in SANDBOX"),
    (r"^line \d+:", "line N:"),
)


def steady(text):
    for pattern, name in CHANGES:
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    return text


def matches(shown, printed):
    shown, printed = steady(shown), steady(printed)
    pattern = "".join(".*?" if part == "…\n" else re.escape(part) for part in re.split(r"(?m)^(…\n)", shown))
    return re.fullmatch(pattern, printed, re.DOTALL)


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command[:40] for command, _ in EXAMPLES])
def test_an_example_prints_what_is_shown(command, shown, tmp_path):
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PWD": str(REPOSITORY),
    }
    done = subprocess.run(
        ["bash", "-c", command], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert matches(shown, done.stdout), f"now it prints:\n{done.stdout}{done.stderr}"


def test_there_is_an_example_of_each_use():
    assert [
        word
        for word in ("lookup -", "显存", "exit status", "kb verify")
        if not any(word in command for command, _ in EXAMPLES)
    ] == []


def test_files_that_are_linked_are_there():
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    assert targets
    assert [target for target in targets if not (REPOSITORY / target).exists()] == []


def test_it_says_how_many_cases_have_run_and_where(corpus):
    ledgers = load_ledgers()
    cases = [case for entry in corpus for case in entry.cases]
    passed = sum(ledgers.state(case) == "verified" for case in cases)
    records = sorted(
        (record for case in cases for record in ledgers.records(case)), key=lambda record: sort_key(record.torch)
    )
    newest = {record.device: record for record in records}
    releases = list(dict.fromkeys(release(record.torch) for record in records if record.device == "cpu"))
    card = " ".join(newest["cuda"].gpu.split()[:2])
    sentence = (
        f"Of {len(cases)} cases, {passed} have run and passed: in a sandbox on one or more of {len(releases)} releases of torch, "
        f"{releases[0]} to {releases[-1]}, and those for CUDA on torch {release(newest['cuda'].torch)} and an {card}"
    )
    assert sentence in README, f"say: {sentence}"
