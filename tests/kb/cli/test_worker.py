"""kb verify on workers gives what it gives on one machine."""

import io
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest

from kb.cli import main
from kb.corpus.environments import environment_for
from kb.verify import verifier
from kb.verify.environments import installation
from kb.verify.verifier import select
from sandbox import cluster
from sandbox.builds import build
from tests import tiny_environment
from tests.entry_factory import SLUG, CheckProgram, Programs
from tests.redis_server import WorkerProcess, await_that


@pytest.fixture
def worker(broker, tmp_path):
    process = WorkerProcess(broker.url, tmp_path / "worker.log", "--concurrency", "2")
    try:
        yield process
    finally:
        process.stop()


def alike(text):
    """The text without what differs from run to run: times, and the folders of the process backend."""
    return re.sub(r'\d+\.\d s|"seconds": [\d.]+|/tmp/kb-sandbox-[\w-]+', "", text)


def verify(*options):
    """Return exit status, and what was printed."""
    shown = io.StringIO()
    with redirect_stdout(shown), redirect_stderr(io.StringIO()):
        status = main(["verify", *options])
    return status, alike(shown.getvalue())


def ledger(entries):
    (path,) = (entries.folder / "verified").glob("*.json")
    records = alike(path.read_text("utf-8"))
    path.unlink()
    return records


@pytest.mark.redis
@pytest.mark.torch
@pytest.mark.slow
def test_table_ledger_and_status_are_those_of_one_machine(entries, broker, worker, monkeypatch):
    monkeypatch.setenv("KB_ENTRIES", str(entries.folder))
    entries.write("good", checks=[CheckProgram("shapes"), CheckProgram("on-gpu", "device=cuda")])
    entries.write("fix-fails", cases=[Programs(fix="import torch\n\nassert torch.ones(3).sum() == 4\n")])
    names = ["good", "fix-fails", "--record"]
    here = verify(*names, "--backend", "process"), ledger(entries)
    broker.await_workers(worker)
    there = verify(*names, "--broker", broker.url), ledger(entries)
    assert main(["worker", "--broker", broker.url, "--ping"]) == 0
    assert there == here
    assert here[0][0] == 1


@pytest.mark.redis
@pytest.mark.torch
@pytest.mark.slow
def test_what_requires_packages_runs_on_the_workers_that_have_them(entries, broker, worker, tmp_path, monkeypatch):
    tiny_environment.write_entries(entries, tmp_path, monkeypatch)
    broker.await_workers(worker)
    status, shown = verify("--broker", broker.url, SLUG)
    assert status == 1
    assert "no worker has the environment tiny-own; kb env build tiny-own there" in shown
    corpus = entries.corpus()
    (case,) = select(corpus)
    build(installation(environment_for(case)), "process")
    second = WorkerProcess(broker.url, tmp_path / "second.log")
    try:
        broker.await_workers(worker, second)
        await_that(lambda: len(cluster.offers(broker.url)) == 2, lambda: True, "both queues are there")
        done = verifier.verify(corpus, [case], entries.index(), options=verifier.RunOptions(broker=broker.url))
        assert done.proved, second.log
        assert dict(done.environment.packages) == {"kb-tiny": "1.5"}
    finally:
        second.stop()


@pytest.mark.parametrize(
    "options", [["--python", "python3"], ["--backend", "docker"], ["--image", "x"], ["--trust-gpu"]]
)
@pytest.mark.usefixtures("no_shipped_entries")
def test_the_workers_choose_their_sandbox_themselves(entries, options, capsys, monkeypatch):
    entries.write("one")
    monkeypatch.setenv("KB_ENTRIES", str(entries.folder))
    assert main(["verify", "--broker", "redis://127.0.0.1:1/0", *options]) == 2
    assert "the workers choose their sandbox" in capsys.readouterr().err


@pytest.mark.parametrize("broker_url", ["", "amqp://host", "host:6379"])
def test_a_worker_needs_the_address_of_a_redis(broker_url, capsys, monkeypatch):
    monkeypatch.delenv("KB_BROKER", raising=False)
    assert main(["worker", "--broker", broker_url]) == 2
    assert main(["worker", "--broker", "redis://127.0.0.1:1/0", "--ping"]) == 1
    assert "redis://" in capsys.readouterr().err
