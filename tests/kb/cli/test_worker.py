"""kb verify on workers gives what it gives on one machine."""

import io
import re
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout

import pytest

from kb.cli import main
from kb.corpus.environments import environment_for
from kb.verify import verifier
from kb.verify.environments import installation
from kb.verify.torch_versions import interpreter
from kb.verify.verifier import select
from sandbox import cluster
from sandbox.builds import build
from tests import another_torch, tiny_environment
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
@pytest.mark.usefixtures("no_shipped_entries")
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
@pytest.mark.usefixtures("no_shipped_entries")
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


@pytest.mark.redis
@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.usefixtures("worker", "no_shipped_entries")
def test_another_release_is_proved_by_its_own_workers_though_one_is_killed(entries, broker, tmp_path, monkeypatch):
    another_torch.offer(tmp_path, monkeypatch)
    monkeypatch.setenv("KB_ENTRIES", str(entries.folder))
    late = "import time\n\nimport torch\n\ntime.sleep(1)\ntorch.ones(3)\n"
    for number in range(4):
        case = another_torch.CASE._replace(repro=late)
        entries.write(f"new-{number}", messages=another_torch.MESSAGES, cases=[case])
    entries.write("old", cases=[Programs(attributes="torch<9.0")])
    entries.write("packages", requires=["transformers"])
    entries.write("fails", messages=another_torch.MESSAGES, cases=[Programs(repro=late, fix="assert 1 > 2\n")])
    names = [*(f"new-{number}" for number in range(4)), "old", "packages", "fails"]
    options = [*names, "--torch", another_torch.RELEASE, "--record"]
    here = verify(*options, "--backend", "process"), ledger(entries)
    logs = tmp_path / "third.log", tmp_path / "fourth.log"
    others = [WorkerProcess(broker.url, log, "--torch", another_torch.RELEASE) for log in logs]
    try:
        await_that(lambda: len(cluster.offers(broker.url)) == 2, lambda: True, "both releases have workers")
        killer = threading.Thread(target=kill_when_it_works, args=(broker, others[0]))
        killer.start()
        there = verify(*options, "--broker", broker.url), ledger(entries)
        killer.join()
        assert others[0].process.wait(1) == -signal.SIGKILL
    finally:
        for process in others:
            process.stop()
    assert there == here
    assert here[0][0] == 1
    for shown in ("1 needs torch <9.0", "1 needs transformers beside another torch", "torch 9.9.0+cpu in process"):
        assert shown in here[0][1]


def kill_when_it_works(broker, process):
    await_that(lambda: broker.client.keys("kb:started:*"), lambda: True, "a batch has begun")
    process.stop()


@pytest.mark.slow
def test_workers_that_start_together_make_one_environment(tmp_path, monkeypatch):
    another_torch.offer(tmp_path, monkeypatch)
    said = []
    with ThreadPoolExecutor() as pool:
        pythons = list(pool.map(lambda _: interpreter(another_torch.RELEASE, said.append), range(3)))
    assert len(said) == len(set(pythons)) == 1
    shown = subprocess.run(
        [pythons[0], "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "9.9.0+cpu\n"


@pytest.mark.parametrize("options", [["--python", "python3"], ["--backend", "docker"], ["--image", "x"]])
@pytest.mark.parametrize("command", [["worker", "--broker", "redis://127.0.0.1:1/0"], ["verify"]])
@pytest.mark.usefixtures("no_shipped_entries")
def test_a_release_of_torch_brings_its_own_interpreter(command, options, entries, capsys, monkeypatch):
    entries.write("one")
    monkeypatch.setenv("KB_ENTRIES", str(entries.folder))
    assert main([*command, "--torch", "2.4.1", *options]) == 2
    assert "--torch brings its own interpreter" in capsys.readouterr().err


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
