"""Runs all attacks on one backend and judges each; used by the tests and by record.py, which writes docs/attacks.md."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import attacks_limits
import attacks_system
import attacks_verdict
from attack import BREACH, CANARY, Attack

import sandbox
from sandbox import Limits, Outcome, Program, choose

REPOSITORY = Path(__file__).parent.parent.parent
ATTACKS: tuple[Attack, ...] = (*attacks_limits.ATTACKS, *attacks_system.ATTACKS, *attacks_verdict.ATTACKS)
BACKENDS = {"docker-runc": ("docker", "runc"), "docker-runsc": ("docker", "runsc"), "bubblewrap": ("bubblewrap", None)}
SECRET = "kb-hostile-secret-4711"


@dataclass(frozen=True)
class Verdict:
    """How one attack ended, how long it took from its start to its report, and all that was wrong with that."""

    attack: Attack
    outcome: Outcome
    faults: tuple[str, ...]

    @property
    def cell(self) -> str:
        """The result in a few words, for the table."""
        if self.faults:
            return "**" + "; ".join(self.faults) + "**"
        outcome = self.outcome
        if outcome.ended == "exit":
            return "refused or harmless" if outcome.passed else f"exit {outcome.exit_code}, not finished"
        return f"signal {outcome.signal}" if outcome.ended == "signal" else f"ended: {outcome.ended}"


@dataclass
class Host:
    """What stands on the host to be attacked, and whether it was."""

    folder: Path
    port: int = 0
    abstract: str = ""
    visits: list[str] = field(default_factory=list)

    def fill(self, source: str) -> str:
        """`source` with the host's own addresses and paths in place of the placeholders."""
        values = {
            "{secret}": str(self.folder / "secret.txt"),
            "{entries}": str(REPOSITORY / "entries"),
            "{port}": str(self.port),
            "{abstract}": self.abstract,
            "{bomb}": str(self.folder / "bomb"),
        }
        for name, value in values.items():
            source = source.replace(name, value)
        return source

    def faults(self) -> list[str]:
        """What the attacks changed here."""
        found = [f"visited: {visit}" for visit in self.visits]
        if (self.folder / "secret.txt").read_text() != SECRET or (self.folder / "bomb").exists():
            found.append("the host's files changed")
        if b"kb-hostile-daemon" in _command_lines():
            found.append("a daemon lives on")
        return found


@contextlib.contextmanager
def host() -> Iterator[Host]:
    """A host with a secret file, a secret in its environment, and services on loopback and an abstract socket."""
    with tempfile.TemporaryDirectory(prefix="kb-hostile-") as folder, contextlib.ExitStack() as stack:
        target = Host(Path(folder))
        (target.folder / "secret.txt").write_text(SECRET)
        target.folder.chmod(0o755)
        network = stack.enter_context(socket.create_server(("", 0)))
        target.port = network.getsockname()[1]
        local = stack.enter_context(socket.socket(socket.AF_UNIX))
        target.abstract = f"kb-hostile-{os.getpid()}"
        local.bind("\0" + target.abstract)
        local.listen()
        for name, server in (("loopback", network), ("abstract", local)):
            threading.Thread(target=_listen, args=(target, name, server), daemon=True).start()
        os.environ["KB_HOSTILE_SECRET"] = SECRET
        stack.callback(os.environ.pop, "KB_HOSTILE_SECRET")
        stack.callback(_shut, network, local)
        yield target


def _listen(target: Host, name: str, server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            server.accept()[0].close()
            target.visits.append(name)


def _shut(*servers: socket.socket) -> None:
    for server in servers:
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)


def _command_lines() -> bytes:
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += path.read_bytes() + b"\n"
    return found


def run_suite(backend: str, *, jobs: int = 2) -> tuple[list[Verdict], list[str]]:
    """Every attack's verdict, in order, and what was wrong on the host afterwards.

    Each attack is followed by a canary in the same worker; a fault that the canary finds is the attack's.
    """
    name, runtime = BACKENDS[backend]
    with host() as target:
        outcomes: dict[str, tuple[Outcome, Outcome]] = {}
        for preload in sorted({attack.preload for attack in ATTACKS}):
            chosen = [attack for attack in ATTACKS if attack.preload == preload]
            outcomes |= _run(chosen, name, runtime, preload, jobs, target)
        verdicts = [
            Verdict(attack, outcomes[attack.name][0], _judge(attack, *outcomes[attack.name])) for attack in ATTACKS
        ]
        return verdicts, target.faults() + _left_over(name)


def _run(
    chosen: list[Attack], backend: str, runtime: str | None, preload: tuple[str, ...], jobs: int, target: Host
) -> dict[str, tuple[Outcome, Outcome]]:
    """Runs each attack and, in the same worker, its canary."""
    programs = []
    for attack in chosen:
        source = target.fill(attack.source)
        limits = attack.limits
        canary = dataclasses.replace(limits, seconds=30, output=Limits().output)
        checks = CANARY + ("import torch\nassert torch.zeros(1).tolist() == [0.0]\n" if preload else "")
        programs += [
            Program(source, limits, attack.name, group=_group(limits), env=attack.env),
            Program(checks, canary, f"{attack.name} canary", group=_group(limits)),
        ]
    done = sandbox.run(programs, backend=backend, isolation="group", jobs=jobs, preload=preload, runtime=runtime)
    return {attack.name: (done[2 * n], done[2 * n + 1]) for n, attack in enumerate(chosen)}


def _group(limits: Limits) -> str:
    """Attacks with the same resources share a worker, one after the other."""
    return str(dataclasses.replace(limits, seconds=0, output=0))


def _judge(attack: Attack, outcome: Outcome, canary: Outcome) -> tuple[str, ...]:
    faults = []
    if outcome.ended not in attack.ended:
        faults.append(f"ended by {outcome.ended}, not {' or '.join(sorted(attack.ended))} {outcome.detail}")
    if attack.exit_code is not None and outcome.ended == "exit" and outcome.exit_code != attack.exit_code:
        faults.append(f"exit status {outcome.exit_code}")
    if attack.signal is not None and outcome.signal != attack.signal:
        faults.append(f"signal {outcome.signal}")
    if outcome.passed and not attack.passes:
        faults.append("counts as passed")
    if BREACH in outcome.stdout + outcome.stderr:
        faults += [line[:200] for line in (outcome.stdout + outcome.stderr).splitlines() if BREACH in line]
    if SECRET in outcome.stdout + outcome.stderr:
        faults.append("a secret leaked")
    if max(len(outcome.stdout.encode()), len(outcome.stderr.encode())) > 3 * attack.limits.output:
        faults.append("too much output came back")
    if not (canary.passed and canary.stdout == "unharmed\n"):
        faults.append(f"the next program was harmed: {canary.ended} {canary.stderr[-200:]} {canary.detail}".strip())
    return tuple(faults)


def _left_over(backend: str) -> list[str]:
    """Containers and control groups of this process that are still there, when the next run of this process has swept.

    Under load the engine refuses for a minute or more to remove a container whose kill has not taken effect, so sweeps go on for two.
    """
    prefix = f"kb-sandbox-{os.getpid()}-"
    if backend == "docker":
        deadline = time.monotonic() + 120
        while (left := _containers(prefix)) and time.monotonic() < deadline:
            choose("docker").sweep()
            time.sleep(1)
        return [f"container {name} is left" for name in left]
    return [f"{path} is left" for path in Path("/sys/fs/cgroup").glob(f"**/{prefix}*")]


def _containers(prefix: str) -> list[str]:
    listed = subprocess.run(
        ["docker", "ps", "-a", "--format", "{{.Names}}"], capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.split() if name.startswith(prefix)]
