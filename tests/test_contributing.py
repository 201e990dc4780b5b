"""The contributors' guides are true: their commands are run as they are written, in a fresh copy of the project, and print what they say.

`KB_UPDATE=1 pytest tests/test_contributing.py` writes into the guides what the commands print now.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.request import urlopen

import pytest

from kb.index.manager import open_index
from kb.search.lookup import lookup
from tests.conftest import REPOSITORY
from tests.guides import blocks, steps, varying, written

pytestmark = pytest.mark.slow

GUIDES = [REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "CONTRIBUTING.zh.md"]
ENGLISH, CHINESE = (guide.read_text("utf-8") for guide in GUIDES)
TOPICS = ("nn", "shapes", "verified")
SECONDS = 180


@pytest.fixture
def checkout(tmp_path):
    """A fresh copy of the project as a git repository, with `kb` and `python` of its own on the PATH; gives a function that runs a command there.

    It has the entries of the two topics that the guides are about, so that their index takes seconds.
    """
    copy = tmp_path / "kb"
    shutil.copytree(
        REPOSITORY, copy, ignore=shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__")
    )
    for topic in (copy / "entries").iterdir():
        if topic.is_dir() and topic.name not in TOPICS:
            shutil.rmtree(topic)
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "kb").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kb "$@"\n')
    (commands / "kb").chmod(0o755)
    who = {f"GIT_{role}_{what}": "reader@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = (
        os.environ
        | who
        | {
            "PATH": os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": str(copy),
            "PYTHONUNBUFFERED": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
    )

    def start(command):
        return subprocess.Popen(
            ["bash", "-c", command],
            cwd=copy,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    for command in ("git init -q -b main", "git add -A", "git commit -q -m 'The project'"):
        subprocess.run(["bash", "-c", command], cwd=copy, env=environment, check=True, timeout=60)
    return copy, start


def follow(command, start):
    """Run a command to its end and return what it printed; a preview is looked at and then ended."""
    if not command.startswith("kb preview"):
        return start(command).communicate(timeout=SECONDS)[0]
    running = start(f"exec {command} --port 0")
    try:
        line = running.stdout.readline()
        address = line.split()[0]
        with urlopen(address, timeout=SECONDS) as page:
            assert "kb check" in page.read().decode()
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 0
        return re.sub(r":\d+/", ":8001/", line)
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


@pytest.mark.bubblewrap
def test_the_guide_can_be_followed_as_it_is_written(checkout):
    copy, start = checkout
    (script,) = blocks(ENGLISH, "python")
    (copy / "fails.py").write_text(script)
    outputs = [follow(step.command, start) for step in steps(ENGLISH)]
    if os.environ.get("KB_UPDATE"):
        for guide, text in zip(GUIDES, (ENGLISH, CHINESE), strict=True):
            guide.write_text(written(text, outputs), "utf-8")
        return
    for step, printed in zip(steps(ENGLISH), outputs, strict=True):
        assert varying(printed) == varying(step.printed), (
            f"CONTRIBUTING.md:{step.line}: $ {step.command}; KB_UPDATE=1 writes what it prints now"
        )
    assert any("proved" in printed for printed in outputs), "the guide ends in a proof"


@pytest.mark.bubblewrap
def test_so_can_the_page_about_entries_of_your_own(checkout):
    _, start = checkout
    page = REPOSITORY / "docs/own-entries.md"
    text = page.read_text("utf-8")
    outputs = [follow(step.command, start) for step in steps(text)]
    if os.environ.get("KB_UPDATE"):
        page.write_text(written(text, outputs), "utf-8")
        return
    assert [varying(printed) for printed in outputs] == [varying(step.printed) for step in steps(text)]


def test_the_example_answers_an_error_that_no_entry_answers():
    message = "RuntimeError: X1 and X2 must have the same number of columns. X1: 300 X2: 768"
    assert not lookup(message, index=open_index()).answered
    answer = lookup(message, index=open_index([REPOSITORY / "entries", REPOSITORY / "docs/example"]))
    assert (answer.matches[0].id, answer.matches[0].confidence) == ("cdist-different-widths", "exact")


def test_the_script_of_the_guide_is_the_repro_of_its_example():
    (script,) = blocks(ENGLISH, "python")
    assert f"```python repro\n{script}```" in (REPOSITORY / "docs/example/shapes/cdist-different-widths.md").read_text(
        "utf-8"
    )


def test_both_guides_say_the_same():
    assert blocks(ENGLISH) == blocks(CHINESE)
    assert [len(marks) for marks in re.findall(r"^(#+) ", ENGLISH, re.MULTILINE)] == [
        len(marks) for marks in re.findall(r"^(#+) ", CHINESE, re.MULTILINE)
    ]
    links = [
        set(re.findall(r"\]\(([^)]+)\)", text)) - {"CONTRIBUTING.md", "CONTRIBUTING.zh.md"}
        for text in (ENGLISH, CHINESE)
    ]
    assert links[0] == links[1]
    spans = [
        set(re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))) for text in (ENGLISH, CHINESE)
    ]
    assert spans[0] == spans[1]
    for sign in (r"^\* ", r"^\| "):
        assert len(re.findall(sign, ENGLISH, re.MULTILINE)) == len(re.findall(sign, CHINESE, re.MULTILINE))


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CONTRIBUTING.zh.md", "docs/security.md", "docs/own-entries.md"])
def test_every_link_leads_somewhere(name):
    text = (REPOSITORY / name).read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert target.startswith("https://") or (REPOSITORY / name).parent.joinpath(target).exists(), target


def test_chinese_text_has_its_spaces_and_punctuation():
    prose = re.sub(r"```.*?```|`[^`\n]+`|\]\([^)]*\)", "", CHINESE, flags=re.DOTALL)
    han = "\u4e00-\u9fff"
    assert re.findall(rf"[{han}][A-Za-z0-9]|[A-Za-z0-9][{han}]", prose) == []
    assert re.findall(rf"[{han}][,;:!?]", prose) == []


def test_every_dependency_has_its_line_and_no_other_has():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *(name for names in project["optional-dependencies"].values() for name in names)]
    names = {re.match(r"[\w.-]+", item)[0] for item in asked} - {project["name"]}
    for text in (ENGLISH, CHINESE):
        assert set(re.findall(r"^\| `([^`]+)` \| \S", text, re.MULTILINE)) == names


def test_what_the_guide_says_that_make_sets_up_exists():
    done = subprocess.run(
        ["make", "-n", ".venv/.dev", "test"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert Path(REPOSITORY, "sandbox/engine/prepare.sh").exists()
