"""Every forged entry is refused, on every backend, by the rules or by the judge; those that pass are the ones that the documents list."""

import re
from pathlib import Path

import pytest
import suite
from forgery_suite import FORGERIES, HONEST, run_forgeries

from sandbox import Options
from sandbox.backends import BACKENDS as MAKERS

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parent.parent.parent / "docs"
BACKENDS = [
    pytest.param("docker-runc", marks=pytest.mark.docker),
    pytest.param("docker-runsc", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
]
BY_CHANCE = {"count-of-processes"}
"""Forgeries that bet on the order in which programs run."""
_verdicts = {}


@pytest.fixture
def verdicts(backend, tmp_path_factory):
    if backend not in _verdicts:
        name, runtime = suite.BACKENDS[backend]
        if runtime == "runsc" and not MAKERS[name](Options(runtime=runtime)).status().works:
            pytest.skip("gVisor's runsc is not registered with the engine")
        _verdicts[backend] = run_forgeries(tmp_path_factory.mktemp("forged"), name, runtime)
    return _verdicts[backend]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_a_forgery_is_refused(verdicts, forgery):
    verdict = verdicts[forgery.name]
    assert verdict.passed == bool(forgery.passes), verdict.refused_by


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_judge_alone_refuses_what_the_documents_say(verdicts):
    weaker = [name for name in documented() if documented()[name] and not verdicts[name].judged]
    assert [name for name in weaker if name not in BY_CHANCE] == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("honest", HONEST, ids=lambda honest: honest.name)
def test_the_honest_entry_beside_them_passes(verdicts, honest):
    verdict = verdicts[honest.name]
    assert verdict.passed, verdict.refused_by


def test_forgeries_have_names_of_their_own():
    names = [forgery.name for forgery in FORGERIES]
    assert len(names) == len(set(names)) >= 40


def documented():
    """Return what docs/attacks.md says that the judge finds, by forgery; empty where it finds nothing."""
    _, _, text = (DOCS / "attacks.md").read_text("utf-8").partition("# The forgeries")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|.*\| ?(.*?) ?\|$", text, re.MULTILINE)
    return {name: "" if judge.startswith("passes") else judge for name, judge in rows}


def test_the_documented_table_lists_every_forgery():
    assert list(documented()) == [forgery.name for forgery in FORGERIES], "run tests/hostile/record.py"


def test_what_passes_is_said_where_a_reviewer_reads():
    text = (DOCS / "security.md").read_text("utf-8")
    section = text[text.index("## What a passing verify does not prove") :]
    for forgery in FORGERIES:
        assert (f"`{forgery.name}`" in section) == bool(forgery.passes), forgery.name
