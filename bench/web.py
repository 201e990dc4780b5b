"""How long readers wait: a never-seen traceback under many clients, on the page and by the API, and the pages that only have to be rendered.

`python -m bench web --seconds 10` starts `kb serve` and asks over kept connections, each of which sends its next request when the last one is answered.
"""

import argparse
import asyncio
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from bench.http_requests import api_lookup, get, new_pastes, page_lookup
from bench.serving import serving

ROUND_SECONDS = 2.0
"""Seconds for one kind of request before it is the next one's turn, so that whatever else the machine does meets all of them alike."""


@dataclass
class Tally:
    """The requests of one kind: the seconds of each, and how many were not answered with 200."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0
    duration: float = 0.0

    def percentile(self, part: int) -> float:
        """Return that percentile of the times in milliseconds."""
        return statistics.quantiles(self.seconds, n=100, method="inclusive")[part - 1] * 1000


async def client(port: int, requests: Iterator[bytes], tally: Tally, until: float) -> None:
    """One kept connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        started = time.perf_counter()
        writer.write(next(requests))
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        await reader.readexactly(int(length))
        tally.seconds.append(time.perf_counter() - started)
        tally.errors += not head.startswith(b"HTTP/1.1 200")
    writer.close()


async def load(port: int, requests: Iterator[bytes], clients: int, seconds: float, tally: Tally) -> None:
    """Ask from so many clients for so long, and add the outcome to the tally."""
    begin = time.perf_counter()
    results = await asyncio.gather(
        *(client(port, requests, tally, begin + seconds) for _ in range(clients)), return_exceptions=True
    )
    tally.errors += sum(isinstance(result, Exception) for result in results)
    tally.duration += time.perf_counter() - begin


def measure(clients: int, seconds: float) -> dict[str, Tally]:
    """Return the tally of each kind of request."""
    with serving({"KB_WEB_RATE": ""}) as server:
        slug = server.fetch("/llms.txt").partition("/e/")[2].partition(".md")[0]
        pastes = new_pastes()
        kinds: dict[str, Callable[[], bytes]] = {
            "a new traceback, on the page": lambda: page_lookup(next(pastes)),
            "a new traceback, by the API": lambda: api_lookup(next(pastes)),
            "an entry": lambda: get(f"/e/{slug}"),
            "the first page": lambda: get("/"),
        }
        tallies = {kind: Tally() for kind in kinds}
        rounds = max(1, round(seconds / ROUND_SECONDS))
        for _ in range(rounds):
            for kind, make_request in kinds.items():
                requests = (make_request() for _ in itertools.count())
                asyncio.run(load(server.port, requests, clients, seconds / rounds, tallies[kind]))
        return tallies


def table(tallies: dict[str, Tally]) -> str:
    """Return the result as a Markdown table."""
    lines = ["| request | median ms | 99% ms | per second | errors |", "|---|---:|---:|---:|---:|"]
    for kind, tally in tallies.items():
        rate = len(tally.seconds) / tally.duration
        lines.append(
            f"| {kind} | {tally.percentile(50):.0f} | {tally.percentile(99):.0f} | {rate:.0f} | {tally.errors} |"
        )
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Measure, print the table, and return 1 when a request was not answered as it should be."""
    parser = argparse.ArgumentParser(prog="python -m bench web", description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each kind of request")
    options = parser.parse_args(argv)
    tallies = measure(options.clients, options.seconds)
    print(f"{options.clients} clients\n")
    print(table(tallies))
    return int(any(tally.errors for tally in tallies.values()))
