"""What a program finds: its folder, its environment, fixed seeds, one thread, working multiprocessing."""

import json
import os

import pytest

from sandbox import Limits, Program, policy, run

pytestmark = pytest.mark.torch

SEEN = """
import json, os, sys
print(json.dumps({
    "cwd": os.listdir("."), "environ": dict(os.environ), "argv": sys.argv, "path": sys.path[0], "here": os.getcwd(),
    "harness": [name for name in sys.modules if name.startswith("sandbox")], "descriptors": len(os.listdir("/proc/self/fd")),
    "hash": hash("kb"), "locale": __import__("locale").getpreferredencoding(),
}))
"""
RANDOM = """
import random
import numpy
import torch
print(random.random(), numpy.random.rand(), torch.rand(1).item(), torch.get_num_threads())
"""
LOADER = """
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.arange(64.0)), batch_size=8, num_workers=2)
print(sum(batch.sum().item() for (batch,) in loader))
"""
GLOO = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29511", rank=0, world_size=1)
value = torch.ones(2)
dist.all_reduce(value)
print(value.tolist())
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def outcomes(backend):
    os.environ["KB_TEST_SECRET"] = "secret-4711"
    programs = [
        Program(SEEN, name="seen", env={"OMP_NUM_THREADS": "2", "MODE": "test"}),
        Program(SEEN, name="seen again"),
        Program(SEEN, name="seen fresh", fresh=True, env={"MODE": "fresh"}),
        Program(RANDOM, name="random"),
        Program("import torch\ntorch.rand(3)\nimport random\nrandom.random()", name="uses up randomness"),
        Program(RANDOM, name="random again"),
        Program(RANDOM, name="random fresh", fresh=True, limits=Limits(seconds=60)),
        Program("import sys\nimport torch\nprint(torch.__version__, sys.version.split()[0])", name="versions"),
        Program(LOADER, name="loader", limits=Limits(seconds=60)),
        Program(GLOO, name="gloo", limits=Limits(seconds=60)),
    ]
    yield {
        outcome.name: outcome for outcome in run(programs, backend=backend, isolation="all", preload=("torch", "numpy"))
    }
    del os.environ["KB_TEST_SECRET"]


def test_all_ran(outcomes):
    for outcome in outcomes.values():
        assert outcome.passed, outcome
        assert outcome.stderr == ""


def test_the_host_environment_stays_outside(outcomes):
    assert "secret-4711" not in outcomes["seen"].stdout
    seen = json.loads(outcomes["seen"].stdout)["environ"]
    assert set(seen) <= set(policy.environment("/tmp")) | {"MODE", "PWD", "HOSTNAME", "CUDA_VISIBLE_DEVICES"}
    assert seen["MODE"] == "test"
    assert seen["OMP_NUM_THREADS"] == "2"


def test_one_program_leaves_nothing_in_the_next_ones_environment(outcomes):
    again = json.loads(outcomes["seen again"].stdout)
    assert "MODE" not in again["environ"]
    assert again["environ"]["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize("name", ["seen", "seen fresh"])
def test_folder_and_arguments(outcomes, name):
    seen = json.loads(outcomes[name].stdout)
    assert seen["cwd"] == ["program.py"]
    assert seen["argv"] == ["program.py"]
    assert seen["path"] == seen["here"]
    assert seen["harness"] == []
    assert seen["descriptors"] <= 5  # 0, 1, 2, the report, and the listing itself
    assert seen["locale"].lower() == "utf-8"


def test_hashes_are_fixed(outcomes):
    assert len({json.loads(outcomes[name].stdout)["hash"] for name in ("seen", "seen again", "seen fresh")}) == 1


def test_randomness_is_the_same_for_every_program(outcomes):
    assert outcomes["random"].stdout == outcomes["random again"].stdout == outcomes["random fresh"].stdout
    assert outcomes["random"].stdout.split()[-1] == "1"


def test_versions_are_those_inside(outcomes):
    torch, python = outcomes["versions"].stdout.split()
    assert torch.startswith("2.")
    for name in ("random", "random fresh", "versions"):
        assert (outcomes[name].versions["torch"], outcomes[name].versions["python"]) == (torch, python)


def test_loader_workers_and_loopback_work(outcomes):
    assert outcomes["loader"].stdout == "2016.0\n"
    assert outcomes["gloo"].stdout == "[1.0, 1.0]\n"
