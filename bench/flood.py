"""Hostile connections against `kb serve` as it starts by default: the memory that they cost it, and how long other readers wait meanwhile.

`python -m bench flood --seconds 10` starts the server anew for each flood. A flood runs in a process of its own and opens its connections
again when the server closes them. The readers come from other loopback addresses and open a connection for each request. Linux only.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import shlex
import socket
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from bench.http_requests import PASTE, URLENCODED, get, page_lookup, post
from bench.serving import SERVE, Serving, serving

READERS = 4
PAUSE = 0.05
"""Seconds that a reader waits between two requests."""
PATIENCE = 10.0
"""Seconds after which a reader gives up, which counts as an error."""
MIB = 1 << 20

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def drip(opening: bytes, drop: bytes = b"", every: float = 0.5) -> Talk:
    """Send the opening, then one drop after another, and never read."""

    async def talk(_reader, writer):
        writer.write(opening)
        while not writer.is_closing():
            await asyncio.sleep(every)
            writer.write(drop)
            await writer.drain()

    return talk


def pour(opening: bytes, chunk: bytes, chunks: int | None = None) -> Talk:
    """Send the opening, then chunks as fast as the server takes them, `chunks` of them or endlessly, then read to the end."""

    async def talk(reader, writer):
        writer.write(opening)
        for _ in itertools.count() if chunks is None else range(chunks):
            writer.write(chunk)
            await writer.drain()
        await reader.read()

    return talk


def ask(make_request: Callable[[int], bytes]) -> Talk:
    """Send requests over one kept connection, each when the last one is answered."""
    numbers = itertools.count()

    async def talk(reader, writer):
        while True:
            writer.write(make_request(next(numbers)))
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
            await reader.readexactly(int(length or 0))

    return talk


def never_read(requests: bytes) -> Talk:
    """Send requests and read no answer."""

    async def talk(_reader, writer):
        writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        writer.transport.pause_reading()
        while not writer.is_closing():
            writer.write(requests)
            await writer.drain()
            await asyncio.sleep(0.2)

    return talk


def _upload(*headers: str) -> bytes:
    return get("/", *headers).replace(b"GET", b"POST", 1)


_FORM = f"Content-Type: {URLENCODED}"
_CHUNKED = "Transfer-Encoding: chunked"
_JSON = "application/json"
FLOODS: dict[str, Talk] = {
    "idle connections": drip(b""),
    "headers without end": drip(get("/")[:-2], b"X-More: header\r\n", 0.1),
    "declared bodies that never come": drip(_upload(_FORM, "Content-Length: 1000000")),
    "slow bodies": drip(_upload(_FORM, "Content-Length: 1000000"), b"a"),
    "slow chunked bodies": drip(_upload(_FORM, _CHUNKED), b"1\r\na\r\n"),
    "chunked bodies without end": pour(_upload(_FORM, _CHUNKED), b"10000\r\n%b\r\n" % (b"a" * 65536)),
    "bodies just below the limit": pour(_upload(_FORM, "Content-Length: 3000005") + b"text=", b"a" * 60_000, 50),
    "declared bodies of 1 GiB": pour(_upload(_FORM, "Content-Length: 1073741824"), b"a" * 65536),
    "forms of a million fields": ask(lambda _: post("/", URLENCODED, b"a&" * 1_000_000)),
    "JSON of a million lists": ask(lambda _: post("/api/v1/lookup", _JSON, b"[%b[]]" % (b"[]," * 1_000_000))),
    "deep JSON": ask(lambda _: post("/api/v1/lookup", _JSON, b"[" * 100_000)),
    "answers that nobody reads": never_read(get("/sitemap.xml")),
    "pipelined requests that nobody reads": never_read(get("/browse") * 200),
    "made-up methods": ask(lambda number: get("/").replace(b"GET", b"X%d" % number, 1)),
    "made-up paths": ask(lambda number: get(f"/made/up/{number}")),
    "30 kB of headers": ask(lambda number: get(f"/healthz?{number}", "X-Long: " + "a" * 30_000)),
}


async def reopen(port: int, talk: Talk) -> None:
    """Keep one hostile connection open: each time that the server closes it, open the next."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
            continue
        try:
            await talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.01)
        finally:
            writer.transport.abort()


def flood(name: str, port: int, connections: int) -> None:
    """Run one flood until this process is ended."""

    async def run():
        await asyncio.gather(*(reopen(port, FLOODS[name]) for _ in range(connections)))

    asyncio.run(run())


@dataclass
class Result:
    """What a flood did: the seconds of each reader's request, how many were not answered with 200, and the most memory over that before it."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0
    memory: int = 0

    def percentile(self, part: int) -> float:
        """Return that percentile of the readers' times in milliseconds."""
        if len(self.seconds) < 2:
            return max(self.seconds, default=float("nan")) * 1000
        return statistics.quantiles(self.seconds, n=100, method="inclusive")[part - 1] * 1000


async def read(port: int, address: str, requests: Iterator[bytes], result: Result, until: float) -> None:
    """One reader: a request over a new connection, a pause, the next request."""
    while time.perf_counter() < until:
        started = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
                writer.write(next(requests))
                answer = await reader.read()
                writer.close()
            result.errors += not answer.startswith(b"HTTP/1.1 200")
        except OSError:
            result.errors += 1
        result.seconds.append(time.perf_counter() - started)
        await asyncio.sleep(PAUSE)


async def watch_memory(server: Serving, baseline: int, result: Result, until: float) -> None:
    """Keep the most memory that the server takes."""
    while time.perf_counter() < until:
        result.memory = max(result.memory, server.memory() - baseline)
        await asyncio.sleep(0.1)


def measure(name: str | None, connections: int, seconds: float, command: list[str]) -> Result:
    """Start the server, then the flood of that name (None: no flood), then the readers; return what they met."""
    with serving(
        {"KB_WEB_RATE": "100000/minute"}, command
    ) as server:  # counted as always, though the readers ask often
        slug = server.fetch("/llms.txt").partition("/e/")[2].partition(".md")[0]
        close = "Connection: close"
        requests = itertools.cycle([get("/", close), get(f"/e/{slug}", close), page_lookup(PASTE, close)])
        result, baseline = Result(), server.memory()
        attacker = multiprocessing.Process(target=flood, args=(name, server.port, connections), daemon=True)
        if name:
            attacker.start()
            time.sleep(1)

        async def run():
            until = time.perf_counter() + seconds
            addresses = [f"127.0.1.{number + 1}" for number in range(READERS)]
            await asyncio.gather(
                watch_memory(server, baseline, result, until),
                *(read(server.port, address, requests, result, until) for address in addresses),
            )

        asyncio.run(run())
        if name:
            attacker.kill()
            attacker.join()
        return result


def row(name: str, result: Result) -> str:
    """Return the line of a Markdown table."""
    numbers = (
        result.memory / MIB,
        len(result.seconds),
        result.percentile(50),
        result.percentile(99),
        max(result.seconds) * 1000,
        result.errors,
    )
    return f"| {name} | {' | '.join(f'{number:.0f}' for number in numbers)} |"


def main(argv: list[str]) -> int:
    """Measure, print the table, and return 1 when a reader was not answered."""
    parser = argparse.ArgumentParser(prog="python -m bench flood", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="FLOOD", help=f"of: {', '.join(FLOODS)} (default all)")
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each flood")
    parser.add_argument(
        "--serve", default=shlex.join(SERVE), help="the command that starts the server (default kb serve)"
    )
    options = parser.parse_args(argv)
    if unknown := set(options.names) - set(FLOODS):
        parser.error(f"there is no flood {', '.join(sorted(unknown))}")
    print(f"{options.connections} hostile connections, {READERS} readers, {options.seconds:.0f} s each\n")
    print("| flood | memory, MiB more | readers' requests | median ms | 99% ms | most ms | errors |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    errors = 0
    for name in options.names or [None, *FLOODS]:
        result = measure(name, options.connections, options.seconds, shlex.split(options.serve))
        errors += result.errors
        print(row(name or "none", result), flush=True)
    return int(errors > 0)
