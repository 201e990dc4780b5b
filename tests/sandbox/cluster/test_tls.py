"""A broker with TLS and a password: what works over it, what is said where it refuses, and that the password shows nowhere."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from kb.cli import main
from sandbox import Program, cluster
from tests.redis_server import REPOSITORY, WAIT, WorkerProcess, await_that

pytestmark = [pytest.mark.redis, pytest.mark.torch, pytest.mark.slow]

WRONG = "another-secret"


def holds_secret(broker, text):
    return any(secret in text for secret in (broker.password, quote(broker.password, safe=""), WRONG))


def command_lines(leader):
    """The command lines of the processes of a session, as `ps` shows them to everybody."""
    lines = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            session = folder.joinpath("stat").read_text().rpartition(")")[2].split()[3]
            if int(session) == leader:
                lines[folder.name] = folder.joinpath("cmdline").read_bytes().decode()
        except OSError:  # it has ended meanwhile
            continue
    return lines


def test_programs_run_over_tls_and_the_password_shows_nowhere(tls_broker, tmp_path):
    """Also not after the broker was away, which Celery logs."""
    worker = WorkerProcess(tls_broker.url, tmp_path / "worker.log", "--concurrency", "2")
    try:
        for _ in range(2):
            await_that(
                lambda: cluster.offers(tls_broker.url), lambda: worker.process.poll() is None, "the worker is there"
            )
            programs = [Program("import os, sys\nsys.exit(str(dict(os.environ)))", name=f"p{n}") for n in range(2)]
            outcomes = cluster.run(programs, broker=tls_broker.url, isolation="each", preload=(), patience=WAIT)
            assert [outcome.ended for outcome in outcomes] == ["exit", "exit"]
            assert not holds_secret(tls_broker, repr(outcomes))
            lines = command_lines(worker.process.pid)
            assert len(lines) >= 3, "the worker and its two children"
            assert not any(holds_secret(tls_broker, line) for line in lines.values())
            tls_broker.stop()
            await_that(lambda: "Cannot connect" in worker.log, lambda: True, "the worker misses its broker")
            tls_broker.start()
    finally:
        worker.stop()
    assert not holds_secret(tls_broker, worker.log)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"password": WRONG}, "the broker refuses the password"),
        ({"authority": "stranger"}, "the broker has a certificate that is not trusted"),
    ],
)
def test_a_broker_that_refuses_is_told_in_one_line_at_once(tls_broker, options, said, capsys):
    url = tls_broker.address(**{name: WRONG if name == "password" else tls_broker.stranger for name in options})
    worker = subprocess.run(
        [sys.executable, "-m", "kb", "worker", "--backend", "process"],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "KB_BROKER": url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
    )
    assert (worker.returncode, worker.stdout) == (1, "")
    assert worker.stderr.startswith(f"kb worker: {said}")
    for torch in ("", "2.13.0"):  # with a version nothing asks for the workers before the batches are sent
        with pytest.raises(cluster.ClusterError, match=said) as refused:
            cluster.run([Program("")], broker=url, torch=torch)
        assert "\n" not in str(refused.value)
        assert not holds_secret(tls_broker, str(refused.value))
    assert worker.stderr.count("\n") == 1
    assert not holds_secret(tls_broker, worker.stderr)
    assert main(["worker", "--broker", url, "--ping"]) == 1
    assert not holds_secret(tls_broker, "".join(capsys.readouterr()))
