"""kb verify on workers gives what it gives on one machine."""

import io
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest

from kb.cli import main
from tests.entry_factory import CheckProgram, Programs
from tests.redis_server import WorkerProcess


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
    assert there == here
    assert here[0][0] == 1


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
    assert "redis://" in capsys.readouterr().err
