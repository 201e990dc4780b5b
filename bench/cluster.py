"""Batches on workers: what a batch costs beside its programs, how programs run with one, two and four workers, and a hundred workers that run nothing.

`python -m bench cluster [--programs N]` starts a redis-server of its own, and `kb worker --backend process` on this machine. All workers share its cores,
so the times of several say what the queue costs and not what more machines give. In the last part a hundred threads take empty batches as workers do.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from redis import Redis, RedisError

import sandbox
from bench.serving import free_port
from sandbox import Outcome, Program, cluster
from sandbox.cluster.app import HEARTBEAT, Queue, busy_key, make_app, started_key
from sandbox.cluster.messages import decode_batch, encode_outcomes

WAIT = 120
"""Seconds after which a step that has not ended is given up."""
SIMULATED = 100
SLEEP = 0.2
"""What a simulated batch takes in seconds; nothing of it is work of this machine."""


@contextlib.contextmanager
def redis() -> Iterator[str]:
    """Start a redis-server without memory on disk; yield its address."""
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{port}/0"
    try:
        await_that(lambda: answers(url))
        yield url
    finally:
        process.kill()
        process.wait(WAIT)


def answers(url: str) -> bool:
    try:
        return bool(Redis.from_url(url, socket_timeout=5).ping())
    except RedisError:
        return False


@contextlib.contextmanager
def workers(url: str, count: int) -> Iterator[None]:
    """Start workers and wait until all of them answer."""
    command = [sys.executable, "-m", "kb", "worker", "--broker", url, "--backend", "process"]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for number in range(count):
            log = stack.enter_context((Path(folder) / f"{number}.log").open("wb"))
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            stack.callback(process.wait, WAIT)
            stack.callback(os.killpg, process.pid, 9)
        with make_app(url) as app, app.connection_for_write() as connection:
            await_that(lambda: len(app.control.ping(timeout=1, connection=connection)) == count)
        yield


def await_that(condition) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("a redis-server or a worker does not answer")
        time.sleep(0.05)


def programs(count: int, source: str) -> list[Program]:
    """Return programs that each are a batch."""
    return [Program(source, name=f"p{number}", group=str(number)) for number in range(count)]


def seconds_of(run, **options) -> float:
    """Return the seconds that a run takes; leave where one of its programs did not pass."""
    started = time.perf_counter()
    outcomes: Sequence[Outcome] = run(preload=(), **options)
    seconds = time.perf_counter() - started
    if failed := [outcome for outcome in outcomes if not outcome.passed]:
        raise SystemExit(f"{failed[0].name}: {failed[0].ended} {failed[0].detail}")
    return seconds


def overhead(url: str, asked: Sequence[Program], rounds: int) -> tuple[float, float]:
    """Return the milliseconds of a batch here and on one worker, each measured in turn with the other."""
    here, there = [], []
    for _ in range(rounds):
        here.append(seconds_of(sandbox.run, programs=asked, backend="process", isolation="group"))
        there.append(seconds_of(cluster.run, programs=asked, broker=url, patience=WAIT))
    return tuple(1000 * statistics.median(times) / len(asked) for times in (here, there))


class Simulated:
    """A worker that takes a batch as kombu keeps it in Redis, sleeps, and answers that all of its programs passed."""

    def __init__(self, url: str, queue: Queue, stop: threading.Event) -> None:
        self._app = make_app(url)
        self._redis = Redis.from_url(url, socket_timeout=WAIT)
        self._queue, self._stop = queue, stop
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        keys = [self._queue.name, *(f"{self._queue.name}\x06\x16{priority}" for priority in (3, 6, 9))]
        while not self._stop.is_set():
            taken = self._redis.brpop(keys, timeout=1)
            if not taken:
                continue
            envelope = json.loads(taken[1])
            headers = envelope["headers"]
            (message,), _, _ = json.loads(base64.b64decode(envelope["body"]))
            self._redis.set(started_key(headers["id"]), "1", ex=HEARTBEAT)
            self._redis.set(busy_key(self._queue.name), "1", ex=HEARTBEAT)
            batch = decode_batch(message)
            self._stop.wait(SLEEP)
            rows = encode_outcomes(
                [Outcome(program.name, "exit", 0, finished=True, seconds=SLEEP) for program in batch.programs]
            )
            self._app.backend.mark_as_done(headers["id"], rows)


def simulated(url: str, count: int, batches: int) -> float:
    """Return the seconds in which so many simulated workers answer so many batches."""
    stop, queue = threading.Event(), Queue("0.0", "cpu", f"simulated-{count}")
    pool = [Simulated(url, queue, stop) for _ in range(count)]
    try:
        return seconds_of(
            cluster.run,
            programs=programs(batches, "print(1)"),
            broker=url,
            torch=queue.torch,
            environment=queue.environment,
            patience=WAIT,
        )
    finally:
        stop.set()
        for worker in pool:
            worker.thread.join(WAIT)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=40, help="batches of each measurement (default 40)")
    parser.add_argument("--rounds", type=int, default=3, help="of the first part (default 3)")
    arguments = parser.parse_args(argv)
    if not shutil.which("redis-server"):
        print("no redis-server on the PATH: nothing was measured")
        return 0
    empty = programs(arguments.programs, "pass")
    sleeping = programs(arguments.programs, f"import time\ntime.sleep({SLEEP})")
    with redis() as url:
        with workers(url, 1):
            here, there = overhead(url, empty, arguments.rounds)
        print(f"{os.cpu_count()} cores, {arguments.programs} batches of one program\n")
        print("| an empty program | ms a batch |\n|---|---:|")
        print(f"| here | {here:.0f} |\n| on one worker | {there:.0f} |\n| what the queue adds | {there - here:.0f} |\n")
        print(f"| programs that sleep {SLEEP} s | batches a second | against one |\n|---|---:|---:|")
        rates = {}
        for count in (1, 2, 4):
            with workers(url, count):
                rates[count] = len(sleeping) / seconds_of(cluster.run, programs=sleeping, broker=url, patience=WAIT)
            print(f"| {count} workers | {rates[count]:.1f} | {rates[count] / rates[1]:.2f} |")
        batches = 20 * SIMULATED
        seconds = simulated(url, SIMULATED, batches)
        ideal = batches * SLEEP / SIMULATED
        print(
            f"\n{SIMULATED} simulated workers, {batches} empty batches of {SLEEP} s: {seconds:.1f} s, "
            f"{batches / seconds:.0f} batches a second, {seconds / ideal:.2f} of what they take without a queue"
        )
    return 0
