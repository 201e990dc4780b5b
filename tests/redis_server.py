"""A Redis of the test's own on a free port, and workers as processes, as an operator starts them. Every wait here ends."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from redis import Redis, RedisError

from sandbox.cluster.app import make_app

REPOSITORY = Path(__file__).parent.parent
PORTS = range(20_000, 32_000)
"""Below the ports that a kernel gives to clients, so that nobody has the port while its Redis is stopped."""
WAIT = 120
"""Seconds after which a test gives up waiting for a process."""


class Broker:
    """A Redis without a memory on disk. It may be stopped and started again at the same address."""

    def __init__(self, folder):
        self.port = free_port()
        self.password = "a-secret"
        self.url = f"redis://:{self.password}@127.0.0.1:{self.port}/0"
        self.client = Redis.from_url(self.url, socket_timeout=5, socket_connect_timeout=5)
        self._folder = folder
        self.start()

    def start(self):
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--requirepass", self.password]
        self._process = subprocess.Popen(
            ["redis-server", *options],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await_that(self._answers, lambda: self._process.poll() is None, "redis-server answers")

    def stop(self):
        self._process.kill()
        self._process.wait(WAIT)

    def await_workers(self, *workers):
        """Wait until as many workers answer as there are; fail where one of them has ended."""
        app = make_app(self.url)
        with app, app.connection_for_write() as connection:
            await_that(
                lambda: len(app.control.ping(timeout=1, connection=connection)) >= len(workers),
                lambda: all(worker.process.poll() is None for worker in workers),
                "the workers answer",
            )

    def _answers(self):
        with contextlib.suppress(RedisError):
            return self.client.ping()


class WorkerProcess:
    """`kb worker` with everything that it starts in a process group."""

    def __init__(self, url, log, *options):
        self._command = [sys.executable, "-m", "kb", "worker", "--broker", url, "--backend", "process", *options]
        self._log = log
        self.start()

    def start(self):
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
            )

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def stop(self):
        self.signal(signal.SIGKILL)
        self.process.wait(WAIT)

    @property
    def log(self):
        return self._log.read_text("utf-8", "replace")


def await_that(condition, may_go_on, what):
    """Wait until the condition holds; fail when it can no longer, or has not for `WAIT` seconds."""
    deadline = time.monotonic() + WAIT
    while not condition():
        assert may_go_on(), f"a process has ended before {what}"
        assert time.monotonic() < deadline, f"{WAIT} s are over before {what}"
        time.sleep(0.05)


def free_port():
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
