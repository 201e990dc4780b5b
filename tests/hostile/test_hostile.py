"""Each attack ends in time, is reported as what it was, and leaves host, verdict and the next program unharmed."""

import platform
import re
from pathlib import Path

import pytest
import suite

from sandbox import Options, printable

DOC = Path(__file__).parent.parent.parent / "docs" / "attacks.md"
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="attacks use x86_64 system call numbers")
BACKENDS = [
    pytest.param("docker-runc", marks=pytest.mark.docker),
    pytest.param("docker-runsc", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
]
_reports = {}


def report(backend):
    if backend not in _reports:
        name, runtime = suite.BACKENDS[backend]
        if runtime == "runsc" and not choose_works(name, runtime):
            pytest.skip("gVisor's runsc is not registered with the engine")
        _reports[backend] = suite.run_suite(backend)
    return _reports[backend]


def choose_works(name, runtime):
    from sandbox.backends import BACKENDS as MAKERS

    return MAKERS[name](Options(runtime=runtime)).status().works


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("attack", suite.ATTACKS, ids=lambda attack: attack.name)
def test_attack_is_held(backend, attack):
    verdict = next(verdict for verdict in report(backend)[0] if verdict.attack is attack)
    assert not verdict.faults, f"{verdict.outcome}"


@pytest.mark.parametrize("backend", BACKENDS)
def test_host_is_unharmed(backend):
    assert report(backend)[1] == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_printed_is_harmless_on_a_terminal(backend):
    verdict = next(verdict for verdict in report(backend)[0] if verdict.attack.name == "terminal-output")
    shown = printable(verdict.outcome.stdout)
    assert "\x1b" in verdict.outcome.stdout
    assert not re.search(r"[\x00\x07\x1b\u202e]|::error|##\[|::set-output", shown)
    assert "red" in shown
    assert "evil" in shown
    assert verdict.outcome.stderr == "\ufffd"


def test_attacks_have_names_of_their_own():
    names = [attack.name for attack in suite.ATTACKS]
    assert len(names) == len(set(names)) >= 40


def test_the_documented_table_lists_every_attack():
    attacks, _, _ = DOC.read_text(encoding="utf-8").partition("# The forgeries")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", attacks, re.MULTILINE)
    assert rows == [attack.name for attack in suite.ATTACKS], "run tests/hostile/record.py"


def test_the_documented_table_shows_no_failure():
    assert "**" not in DOC.read_text(encoding="utf-8")
