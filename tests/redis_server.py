"""A Redis of the test's own on a free port, and workers as processes, as an operator starts them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from redis import Redis, RedisError

REPOSITORY = Path(__file__).parent.parent


class Broker:
    """A Redis without a memory on disk. It may be stopped and started again at the same address."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.password = "a-secret"
        self.url = f"redis://:{self.password}@127.0.0.1:{self.port}/0"
        self.client = Redis.from_url(self.url)
        self._folder = folder
        self.start()

    def start(self):
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--requirepass", self.password]
        self._process = subprocess.Popen(
            ["redis-server", *options], cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while True:
            with contextlib.suppress(RedisError):
                if self.client.ping():
                    return
            assert self._process.poll() is None
            time.sleep(0.05)

    def stop(self):
        self._process.kill()
        self._process.wait()


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
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def stop(self):
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        self.process.wait()

    @property
    def log(self):
        return self._log.read_text("utf-8", "replace")
