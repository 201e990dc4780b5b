"""A bounded share of the fuzzing is part of the tests: the same cases each time, and the fuzzer itself notices what goes wrong."""

import math
import os
import time
from random import Random

import pytest

from bench.fuzz import check, main, run_case
from bench.fuzz.mutation import LONGEST, YAML, mutate
from bench.fuzz.targets import TARGETS

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("KB_FUZZ_CASES", "40"))
"""Cases of each target, without the limit on time; `python -m bench fuzz --seconds 3600` runs many more, and new ones."""


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_that_strangers_write_fails_or_harms_others(name, tmp_path):
    for number in range(CASES):
        failure, _ = run_case(TARGETS[name], 1, number, tmp_path, cpu_seconds=math.inf)
        assert failure is None, (
            f"{failure.what}\nagain: python -m bench fuzz --target {name!r} --seed 1 --first {number} --cases 1"
        )


@pytest.mark.parametrize("name", TARGETS)
def test_a_seed_makes_the_same_inputs(name):
    assert [TARGETS[name].make(Random("7")) for _ in range(2)] == [TARGETS[name].make(Random("7"))] * 2


def test_inputs_are_bounded():
    assert max(len(mutate(b"a: b\n" * 100, YAML, Random(number))) for number in range(300)) <= LONGEST


class Broken:
    def __init__(self, action, name="broken"):
        self.action, self.name = action, name

    def make(self, random):
        return random.randbytes(4)

    def check(self, data, folder):
        self.action()


def fail():
    raise ZeroDivisionError("a parser failed")


def burn():
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass


@pytest.mark.parametrize(
    ("action", "said", "stuck_seconds"),
    [(fail, "a parser failed", 300), (burn, "s of CPU", 300), (lambda: time.sleep(300), "no end", 1)],
)
def test_the_fuzzer_notices_a_failure_a_slow_case_and_one_that_does_not_end(action, said, stuck_seconds, tmp_path):
    failure, _ = check(Broken(action), b"data", 3, tmp_path, cpu_seconds=0.1, stuck_seconds=stuck_seconds)
    assert said in failure.what
    assert (failure.number, failure.data) == (3, b"data")


def test_the_command_prints_a_table_and_fails_with_the_case_to_repeat(capsys, monkeypatch):
    assert main(["--target", "kb.yaml", "--cases", "2", "--seed", "5"]) == 0
    monkeypatch.setitem(TARGETS, "kb.yaml", Broken(fail, "kb.yaml"))
    assert main(["--target", "kb.yaml", "--cases", "2", "--seed", "5"]) == 1
    printed = capsys.readouterr()
    assert "seed 5" in printed.out
    assert "--seed 5 --first 0 --cases 1" in printed.err
