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
from urllib.parse import quote, urlencode

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
        options = ["--bind", "127.0.0.1", "--save", "", "--requirepass", self.password]
        self._process = subprocess.Popen(
            ["redis-server", *self._port_options(), *options],
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

    def _port_options(self):
        return ["--port", str(self.port)]

    def _answers(self):
        with contextlib.suppress(RedisError):
            return self.client.ping()


class TlsBroker(Broker):
    """One that speaks TLS alone and asks clients for a certificate, both signed by an authority that the test makes. `stranger` is a certificate of nobody."""

    def __init__(self, folder):
        self.port = free_port()
        self.password = "p@ss/wo:rd#1?%"
        make_certificates(folder)
        self._files = {name: folder / f"{name}.pem" for name in ("authority", "server", "server-key", "stranger")}
        self.stranger = self._files["stranger"]
        self.url = self.address()
        self.client = Redis.from_url(self.url, socket_timeout=5, socket_connect_timeout=5)
        self._folder = folder
        self.start()

    def address(self, password=None, authority=None):
        """The address with another password or another authority to trust."""
        parameters = {
            "ssl_ca_certs": authority or self._files["authority"],
            "ssl_certfile": self._files["server"],
            "ssl_keyfile": self._files["server-key"],
        }
        secret = quote(password or self.password, safe="")
        return f"rediss://:{secret}@127.0.0.1:{self.port}/0?{urlencode(parameters)}"

    def _port_options(self):
        options = {
            "port": 0,
            "tls-port": self.port,
            "tls-cert-file": self._files["server"],
            "tls-key-file": self._files["server-key"],
            "tls-ca-cert-file": self._files["authority"],
            "tls-auth-clients": "yes",
        }
        return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def make_certificates(folder):
    """Write an authority, a certificate for 127.0.0.1 that it has signed, and one that nobody has, with their keys."""
    new = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    commands = [
        [*new, "-x509", "-subj", f"/CN={name}", "-keyout", f"{name}-key.pem", "-out", f"{name}.pem"]
        for name in ("authority", "stranger")
    ]
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1", "utf-8")
    commands += [
        [*new, "-subj", "/CN=server", "-keyout", "server-key.pem", "-out", "request.pem"],
        "openssl x509 -req -in request.pem -CA authority.pem -CAkey authority-key.pem -CAcreateserial -days 2 -extfile names -out server.pem".split(),
    ]
    for command in commands:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


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
