"""Requests per second of the web application against an empty Flask route on the same server, with the same clients.

`python -m bench web --seconds 60` starts both servers, one worker each, and asks them in turn over kept connections.
"""

import argparse
import asyncio
import multiprocessing
import os
import socket
import statistics
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, repeat
from urllib.parse import urlencode

from flask import Flask

ROUND = 2.0
"""Seconds for one kind of request before it is the next one's turn."""
PASTE = """Traceback (most recent call last):
  File "/home/me/train.py", line 88, in <module>
    main()
  File "/home/me/train.py", line 41, in main
    out = model(x)
  File "/opt/lib/python3.12/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (48x300 and 512x10)
"""


@dataclass
class Tally:
    """What came of the requests to one address: seconds of each, and how many were not answered with 200."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0
    took: float = 0.0

    @property
    def per_second(self):
        return len(self.seconds) / self.took

    def percentile(self, part):
        return statistics.quantiles(self.seconds, n=100)[part - 1] * 1000


class Client(asyncio.Protocol):
    """One kept connection: sends the request again as soon as the answer is there."""

    def __init__(self, requests: Iterator[bytes], tally: Tally, stop: Callable[[], bool], done: asyncio.Future):
        self.requests, self.tally, self.stop, self.done = requests, tally, stop, done
        self.buffer = b""
        self.left = -1

    def connection_made(self, transport):
        self.transport = transport
        self.send()

    def send(self):
        self.started = time.perf_counter()
        self.transport.write(next(self.requests))

    def data_received(self, data):
        if self.left < 0:
            self.buffer += data
            head, mark, rest = self.buffer.partition(b"\r\n\r\n")
            if not mark:
                return
            self.ok = head.startswith(b"HTTP/1.1 200")
            self.left = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]) - len(rest)
        else:
            self.left -= len(data)
        if self.left <= 0:
            self.tally.seconds.append(time.perf_counter() - self.started)
            self.tally.errors += not self.ok
            self.buffer, self.left = b"", -1
            if self.stop():
                self.transport.close()
            else:
                self.send()

    def connection_lost(self, error):
        self.tally.errors += error is not None or not self.stop()
        if not self.done.done():
            self.done.set_result(None)


async def load(port: int, requests: Iterator[bytes], clients: int, seconds: float, tally: Tally) -> None:
    """Ask one address from so many clients for so long, and add what comes of it to the tally."""
    loop, begin = asyncio.get_running_loop(), time.perf_counter()
    waiting = []
    for _ in range(clients):
        done = loop.create_future()
        client = Client(requests, tally, lambda: time.perf_counter() - begin >= seconds, done)
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)
        waiting.append(done)
    await asyncio.gather(*waiting)
    tally.took += time.perf_counter() - begin


def serve_kb(port: int) -> None:
    from webapp import serve

    serve(port=port, config={"RATE": "", "LOG": "json"})


def serve_empty(port: int) -> None:
    """The same server, with the same settings, around a route that does nothing."""
    from granian.constants import Interfaces
    from granian.log import LogLevels
    from granian.server import Server

    app = Flask("empty")
    app.add_url_rule("/", view_func=lambda: "")
    server = Server(
        "empty", port=port, interface=Interfaces.WSGI, blocking_threads=4, log_level=LogLevels.error, websockets=False
    )
    server.serve(target_loader=lambda: app, wrap_loader=False)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(serve: Callable[[int], None]) -> tuple[multiprocessing.Process, int]:
    """Start a server in a process of its own, its log thrown away, and wait until it answers."""
    port = free_port()

    def run():
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        serve(port)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return process, port
    raise RuntimeError("the server does not answer")


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\nAccept-Language: en\r\n\r\n".encode()


def post(path: str, kind: str, body: bytes) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


def form(paste: str) -> bytes:
    """Return the request that the page's script sends for a paste."""
    return post("/", "application/x-www-form-urlencoded", urlencode({"text": paste}).encode())


def call(paste: str) -> bytes:
    return post("/api/v1/lookup", "text/plain", paste.encode())


def pastes() -> Iterator[str]:
    """Yield tracebacks of which no two are alike: another line and other sizes each time."""
    for number in count():
        yield PASTE.replace("line 41", f"line {number}").replace("48x300", f"{number % 97 + 1}x{number}")


def measure(clients: int = 32, seconds: float = 10.0) -> dict[str, Tally]:
    """Return the tally of each kind of request, asked for in turn, round by round, so that what else the machine does falls on all alike."""
    kb, kb_port = start(serve_kb)
    empty, empty_port = start(serve_empty)
    try:
        entries = urllib.request.urlopen(f"http://127.0.0.1:{kb_port}/llms.txt").read().decode()
        slug = entries.partition("/e/")[2].partition(".md")[0]
        cases = {
            "an empty Flask route": (empty_port, repeat(get("/"))),
            "the first page": (kb_port, repeat(get("/"))),
            "an entry": (kb_port, repeat(get(f"/e/{slug}"))),
            "the same traceback, on the page": (kb_port, repeat(form(PASTE))),
            "the same traceback, by the API": (kb_port, repeat(call(PASTE))),
            "a new traceback each time, on the page": (kb_port, map(form, pastes())),
            "a new traceback each time, by the API": (kb_port, map(call, pastes())),
        }
        tallies = {name: Tally() for name in cases}
        rounds = max(1, round(seconds / ROUND))
        for _ in range(rounds):
            for name, (port, requests) in cases.items():
                asyncio.run(load(port, requests, clients, seconds / rounds, tallies[name]))
        return tallies
    finally:
        for process in (kb, empty):
            process.terminate()
            process.join(15)


def table(tallies: dict[str, Tally]) -> str:
    """Return the result as a Markdown table."""
    base = next(iter(tallies.values())).per_second
    lines = [
        "| request | per second | of the empty route | median ms | 99% ms | errors |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, tally in tallies.items():
        lines.append(
            f"| {name} | {tally.per_second:.0f} | {tally.per_second / base:.2f} | {tally.percentile(50):.1f} | {tally.percentile(99):.1f} | {tally.errors} |"
        )
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Measure, print the table, and return 1 when a request was not answered."""
    parser = argparse.ArgumentParser(prog="python -m bench web", description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each kind of request")
    options = parser.parse_args(argv)
    tallies = measure(options.clients, options.seconds)
    print(table(tallies))
    return int(any(tally.errors for tally in tallies.values()))
