"""The HTTP server: waitress, with a bound on everything that clients can make it hold.

waitress reads requests and writes responses in one event loop, so that a slow client occupies no thread. Added here are a time limit for each step of a
client, room for new connections when there are many, one budget for the bytes held for all clients together, and a queue that serves clients in turn.
"""

from __future__ import annotations

import heapq
import logging
import socket
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher
from waitress.utilities import BadRequest, Error

from webapp.limiting import client_key
from webapp.logs import places
from webapp.request import MAX_BODY_BYTES

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

__all__ = ["BoundedServer", "FairQueue", "Limits"]

log = logging.getLogger("webapp")
_BUDGET_STEP = 64 << 10
"""Bytes of a request's body after which the budget is asked again. Shorter bodies are always taken."""
_FILES_BESIDE_CONNECTIONS = 128
"""Descriptors for entries, index, log and metrics, and for connections accepted before others are dropped."""
_ACCEPT_BATCH = 32
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may make the server hold. Sizes are bytes.

    Memory for clients is at most `buffered_bytes` + `connections` × (`header_bytes` + 64 KiB).
    """

    connections: int = 500
    """When so many are open, a new one takes the place of the one that has waited longest."""
    client_seconds: float = 30.0
    """Time for each step of a client: to begin a request, to send it whole, and to take its response."""
    buffered_bytes: int = 64 << 20
    """Bodies of requests and responses not yet taken, of all clients together."""
    header_bytes: int = 32 << 10
    body_bytes: int = MAX_BODY_BYTES
    stop_seconds: float = 10.0
    """Time for requests in progress when the server is stopped."""


class ServiceUnavailable(Error):  # noqa: N818 - a response and no exception
    """The response where the budget for bodies is used up."""

    code = 503
    reason = "Service Unavailable"


class BoundedParser(HTTPRequestParser):
    """Parses one request. `has_room` says whether the budget allows a longer body."""

    def __init__(self, adj: Adjustments, has_room: Callable[[], bool]) -> None:
        super().__init__(adj)
        self._has_room = has_room

    def received(self, data: bytes) -> int:
        """Take data of the request and return how many bytes of it were consumed.

        Data behind the end of the request is dropped and the connection closed after its response. Such pipelined requests are legal, but no browser
        sends them, and each would be held in memory. A client repeats what was not answered (RFC 9112, 9.3.2).
        """
        before = self.body_bytes_received
        try:
            consumed: int = super().received(data)
        except ValueError as error:  # a Content-Length with more digits than Python converts
            self.error, self.completed, consumed = BadRequest(str(error)), True, len(data)
        if (
            not self.completed
            and self.body_bytes_received // _BUDGET_STEP > before // _BUDGET_STEP
            and not self._has_room()
        ):
            self.error, self.completed = ServiceUnavailable("too many long requests at once, try again later"), True
        if self.completed and not self.empty and data[consumed:].strip(b"\r\n"):
            self.headers["CONNECTION"] = "close"
            consumed = len(data)
        return consumed


class BoundedChannel(HTTPChannel):
    """One connection. Unless a request is being served, the client must take its next step before `deadline` (seconds of `time.time`)."""

    server: BoundedServer

    def __init__(self, server: BoundedServer, *arguments: Any, **options: Any) -> None:
        self.server = server
        self._restart_clock()
        super().__init__(server, *arguments, **options)
        self.parser_class = partial(BoundedParser, has_room=server.has_room)

    @property
    def waiting(self) -> bool:
        """Whether it is the client's turn: no request is being served or waits for a thread."""
        return not self.requests

    @property
    def held_bytes(self) -> int:
        """Bytes of this connection's requests and of the response that its client has not taken."""
        requests = [*self.requests, self.request]
        unanswered: int = sum(request.body_bytes_received for request in requests if request)
        return unanswered + int(self.total_outbufs_len)

    def received(self, data: bytes) -> bool:
        """Take data from the client. The first data of a request restart the clock."""
        before = self.request
        taken: bool = super().received(data)
        if self.request is not None and self.request is not before:
            self._restart_clock()
        return taken

    def service(self) -> None:
        """Answer one request, in a thread. The client then has time to take the response."""
        super().service()
        self._restart_clock()
        if self.total_outbufs_len:
            self.server.shed()

    def handle_expt(self) -> None:
        """Close a connection with urgent data, which HTTP does not have and `poll` would report for ever."""
        self.server.drop(self)

    def handle_error(self) -> None:
        """Log an unexpected exception without its text, which may quote the request, and close the connection."""
        if error := sys.exception():
            log.error("%s", places(error))
        self.handle_close()

    def _restart_clock(self) -> None:
        self.deadline = time.time() + self.server.limits.client_seconds


class FairQueue:
    """A queue of connections with a request to be served, which gives each client its turn.

    A client with many connections waits for itself and not in front of others (round robin). `client_of` names the client of a connection. It has the
    methods of `collections.deque` that waitress uses, and is guarded by its dispatcher's lock.
    """

    def __init__(self, client_of: Callable[[HTTPChannel], str]) -> None:
        self._client_of = client_of
        self._queues: OrderedDict[str, deque[HTTPChannel]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, channel: HTTPChannel) -> None:
        """Add a connection behind the others of its client."""
        self._queues.setdefault(self._client_of(channel), deque()).append(channel)
        self._length += 1

    def popleft(self) -> HTTPChannel:
        """Remove and return the first connection of the client whose turn it is. Raises KeyError when there is none."""
        client, queue = self._queues.popitem(last=False)
        channel = queue.popleft()
        self._length -= 1
        if queue:
            self._queues[client] = queue
        return channel


class BoundedServer(TcpWSGIServer):
    """Serves a WSGI application on a listening socket within `limits`, in `threads` threads beside the event loop.

    `proxies` is the number of trusted reverse proxies, whose X-Forwarded-For names the client for the order in which requests are served.
    """

    channel_class = BoundedChannel

    def __init__(
        self,
        app: WSGIApplication,
        listener: socket.socket,
        *,
        threads: int = 4,
        proxies: int = 0,
        limits: Limits | None = None,
    ) -> None:
        limits = limits or Limits()
        self.limits = replace(limits, connections=_connections_allowed(limits.connections))
        self._stopping = self._ended = False
        self._trigger_lock = threading.RLock()
        self._dropped: list[BoundedChannel] = []
        adjustments = Adjustments(
            sockets=[listener],
            threads=threads,
            connection_limit=self.limits.connections + _ACCEPT_BATCH,  # reached only where no connection can make room
            backlog=1024,
            channel_timeout=self.limits.client_seconds,
            cleanup_interval=1,
            max_request_header_size=self.limits.header_bytes,
            max_request_body_size=self.limits.body_bytes + 1,
            inbuf_overflow=self.limits.body_bytes + 1,  # bodies stay in memory, where the budget holds
            clear_untrusted_proxy_headers=False,  # KB_WEB_PROXIES decides
            server_name="localhost",
            ident="",
            log_socket_errors=False,  # clients come and go as they like
        )
        dispatcher = ThreadedTaskDispatcher()
        dispatcher.queue = FairQueue(partial(_client_of, proxies=proxies))
        dispatcher.set_thread_count(threads)
        sockinfo = (listener.family, listener.type, listener.proto, listener.getsockname())
        super().__init__(
            app, {}, True, listener, dispatcher=dispatcher, adj=adjustments, bind_socket=False, sockinfo=sockinfo
        )

    def run(self) -> None:
        """Serve until `stop`, then finish the requests in progress and close every connection. A server runs once."""
        while not self._stopping:
            self._poll(_POLL_SECONDS)
        self.asyncore.dispatcher.close(self)
        deadline = time.monotonic() + self.limits.stop_seconds
        while self._in_progress() and time.monotonic() < deadline:
            self._poll(0.05)
        self.task_dispatcher.shutdown(timeout=1)
        for channel in self._channels():
            channel.handle_close()
        with self._trigger_lock:
            self._ended = True
            self.trigger.close()

    def stop(self) -> None:
        """End `run`. Can be called from a signal handler and from any thread."""
        self._stopping = True
        self.pull_trigger()

    def pull_trigger(self) -> None:
        """Wake the event loop. A thread that ends after the server has stopped wakes nothing, because its descriptor may be another file's by then."""
        with self._trigger_lock:
            if not self._ended:
                super().pull_trigger()

    def handle_accept(self) -> None:
        """Accept the connections that are there, and not one for each turn of the loop as waitress does: readers would wait behind a flood of them."""
        for _ in range(_ACCEPT_BATCH):
            before = len(self.active_channels)
            super().handle_accept()
            if len(self.active_channels) <= before:
                break
        self._make_room()

    def _make_room(self) -> None:
        """Drop the connections that have waited longest, if there are too many."""
        excess = len(self.active_channels) - self.limits.connections
        if excess > 0:
            waiting = [channel for channel in self._channels() if channel.waiting]
            for channel in heapq.nsmallest(excess, waiting, key=lambda channel: channel.deadline):
                self.drop(channel)

    def maintenance(self, now: float) -> None:
        """Close the connections whose clients did not take their next step in time. waitress calls this every second."""
        for channel in self._channels():
            if channel.waiting and channel.deadline < now:
                self.drop(channel)

    def drop(self, channel: BoundedChannel) -> None:
        """Close a connection between two polls, unless it is being served then.

        Setting waitress' `will_close` would not do, because it waits until the client takes data. Nor would closing it at once, because a new connection
        could get its descriptor, and with it the events of the old one.
        """
        self._dropped.append(channel)

    def has_room(self) -> bool:
        """Return whether the bytes held for all clients are within the budget."""
        return self._held_bytes() < self.limits.buffered_bytes

    def shed(self) -> None:
        """Drop the connections that have not taken their response for the longest time, until the budget holds. Called from threads."""
        excess = self._held_bytes() - self.limits.buffered_bytes
        if excess <= 0:
            return
        untaken = [channel for channel in self._channels() if channel.waiting and channel.total_outbufs_len]
        for channel in sorted(untaken, key=lambda channel: channel.deadline):
            if excess > 0:
                excess -= channel.total_outbufs_len
                self.drop(channel)
        self.pull_trigger()

    def _held_bytes(self) -> int:
        return sum(channel.held_bytes for channel in self._channels())

    def _channels(self) -> list[BoundedChannel]:
        """Return the open connections. A copy, because the event loop adds and removes some while threads look at them."""
        return list(self.active_channels.values())

    def _poll(self, seconds: float) -> None:
        self.asyncore.loop(timeout=seconds, use_poll=True, map=self._map, count=1)
        while self._dropped:
            channel = self._dropped.pop()
            if channel.waiting:
                channel.handle_close()

    def _in_progress(self) -> bool:
        return any(channel.requests or channel.total_outbufs_len for channel in self._channels())


def _connections_allowed(connections: int) -> int:
    """Raise this process's limit on open files to what so many connections need, and return how many it allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return connections
    needed = connections + _FILES_BESIDE_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(1, allowed - _FILES_BESIDE_CONNECTIONS)


def _client_of(channel: HTTPChannel, proxies: int) -> str:
    """Return the client of a connection: its address, or the one that the outermost trusted proxy saw."""
    if proxies and channel.requests:
        hops = channel.requests[0].headers.get("X_FORWARDED_FOR", "").split(",")
        if len(hops) >= proxies:
            return client_key(hops[-proxies].strip())
    return client_key(channel.addr[0])
