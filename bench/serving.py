"""Start `kb serve` as its users do, in a process of its own, and read how much memory it takes. Linux only: memory comes from /proc."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

SERVE = (sys.executable, "-m", "kb", "serve", "--port", "{port}")
START_SECONDS = 60.0


class Serving(NamedTuple):
    """A running server: its port and the process that was started."""

    port: int
    pid: int

    def fetch(self, path: str) -> str:
        """Return what the server answers to a GET."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
            return response.read().decode()

    def memory(self) -> int:
        """Return the bytes of memory that the server and its child processes take, pages that they share counted once."""
        return sum(map(_proportional_bytes, _process_tree(self.pid)))


@contextmanager
def serving(environment: Mapping[str, str] = {}, command: Sequence[str] = SERVE) -> Iterator[Serving]:
    """Start the server on a free port of this machine, wait until it answers, and stop it at the end. Its log is thrown away."""
    port = free_port()
    process = subprocess.Popen(
        [part.replace("{port}", str(port)) for part in command],
        env=os.environ | dict(environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    server = Serving(port, process.pid)
    try:
        _wait_until_it_answers(server, process)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_answers(server: Serving, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode}")
        try:
            server.fetch("/healthz")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the server did not answer within {START_SECONDS:.0f} s")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _process_tree(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            pids = children.read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in pids:
            yield from _process_tree(int(child))


def _proportional_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # the process has ended
        return 0
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
