"""The server holds slow, endless, long and very many connections: each test is at the level of bytes, connections and status codes."""

import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from waitress.adjustments import Adjustments

from webapp.connections import BoundedParser, BoundedServer, FairQueue, Limits

pytestmark = pytest.mark.slow

GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
CLOSE = b"Connection: close\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


class App:
    """A WSGI application that answers with the length of the body, as `respond` or at once, and counts its calls."""

    def __init__(self, respond=None):
        self.calls = 0
        self.respond = respond or (lambda body: b"%d bytes" % len(body))

    def __call__(self, environ, start_response):
        self.calls += 1
        response = self.respond(environ["wsgi.input"].read())
        start_response("200 OK", [("Content-Length", str(len(response)))])
        return [response]


@contextmanager
def serving(app=None, *, threads=1, proxies=0, **limits):
    """A server in a thread, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = BoundedServer(app or App(), listener, threads=threads, proxies=proxies, limits=Limits(**limits))
        server.address = listener.getsockname()
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join(20)


def connect(server, data=b""):
    connection = socket.create_connection(server.address, timeout=20)
    connection.sendall(data)
    return connection


def read_to_end(connection):
    """What the server sends until it closes the connection; a reset is a close."""
    received = b""
    try:
        while data := connection.recv(65536):
            received += data
    except ConnectionResetError:
        pass
    connection.close()
    return received


def read_response(connection, received=b""):
    """The whole response on a connection that is kept, of which `received` has been read already."""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(1 << 20)
    return head + b"\r\n\r\n" + body


def exchange(server, request):
    return read_to_end(connect(server, request))


def status(response):
    return int(response.split(b" ", 2)[1]) if response else None


def is_answered(server):
    """Whether another reader gets the page."""
    return status(exchange(server, GET + CLOSE)) == 200


def wait_for(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


@pytest.mark.parametrize(
    "opening",
    [
        b"",
        b"GET / HT",
        GET,
        POST + b"Content-Length: 1000\r\n\r\n",
        POST + b"Content-Length: 1000\r\n\r\nabc",
        POST + CHUNKED + b"\r\n",
        POST + CHUNKED + b"\r\n3\r\nabc\r\n",
        POST + b"Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
    ],
)
def test_connections_that_send_nothing_more_occupy_no_thread(opening):
    with serving(threads=1) as server:
        held = [connect(server, opening) for _ in range(50)]
        assert is_answered(server)
        assert len(server.active_channels) >= 50
        for connection in held:
            connection.close()


def test_a_chunked_body_reaches_the_application_whole():
    app = App(lambda body: body)
    with serving(app) as server:
        response = exchange(server, POST + CHUNKED + CLOSE + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
    assert status(response) == 200
    assert response.endswith(b"\r\n\r\nabcde")


@pytest.mark.parametrize(
    "request_head",
    [POST + CHUNKED + b"\r\n", POST + b"Content-Length: 1001\r\n\r\n", POST + b"Content-Length: 1073741824\r\n\r\n"],
)
def test_a_body_above_the_limit_is_refused_before_the_application_is_asked(request_head):
    app = App()
    with serving(app, body_bytes=1000) as server:
        connection = connect(server, request_head)
        if CHUNKED in request_head:
            connection.sendall(b"400\r\n" + b"a" * 1024 + b"\r\n")
        assert status(read_to_end(connection)) == 413
        assert is_answered(server)
    assert app.calls == 1


@pytest.fixture
def make_parser():
    def make(has_room=lambda: True, **adjustments):
        return BoundedParser(Adjustments(**adjustments), has_room)

    return make


@pytest.mark.parametrize("chunk", [b"1\r\na\r\n", b"10000\r\n" + b"a" * 65536 + b"\r\n"])
def test_of_an_endless_chunked_body_no_more_is_taken_than_the_limit(make_parser, chunk):
    parser = make_parser(max_request_body_size=100_000)
    parser.received(POST + CHUNKED + b"\r\n")
    sent = 0
    while not parser.completed:
        sent += parser.received(chunk)
    assert parser.error.code == 413
    assert sent <= 100_000 + len(chunk)


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (GET + b"X-Long: " + b"a" * 5000 + b"\r\n" + CLOSE, 431),
        (GET + b"X: y\r\n" * 1000, 431),
        (POST + b"Content-Length: 1" + b"0" * 4500 + b"\r\n\r\n", 431),
        (POST + b"Content-Length: -1\r\n\r\n", 400),
        (POST + CHUNKED + b"\r\nnonsense\r\n", 400),
        (POST + b"Transfer-Encoding: gzip\r\n\r\n", 501),
        (b"nonsense\r\n\r\n", 400),
    ],
)
def test_malformed_and_oversized_requests_are_refused(request_bytes, code):
    with serving(header_bytes=4096) as server:
        assert status(exchange(server, request_bytes)) == code
        assert is_answered(server)


def test_a_length_with_more_digits_than_python_converts_is_refused():
    with serving() as server:
        assert status(exchange(server, POST + b"Content-Length: 1" + b"0" * 5000 + b"\r\n\r\n")) == 400


@pytest.mark.parametrize("drop", [b"", b"X: y\r\n"])
@pytest.mark.parametrize("opening", [b"", GET, POST + b"Content-Length: 100000\r\n\r\n"])
def test_a_client_that_does_not_finish_its_step_in_time_is_disconnected(opening, drop):
    with serving(client_seconds=0.3) as server:
        connection = connect(server, opening)
        wait_for(lambda: server.active_channels)
        for _ in range(1000):  # it goes on sending, a little at a time
            if not server.active_channels:
                break
            try:
                connection.sendall(drop)
            except OSError:
                break
            time.sleep(0.02)
        wait_for(lambda: not server.active_channels)
        connection.close()


def test_a_response_that_nobody_takes_is_dropped_in_time():
    with serving(App(lambda _: b"a" * (32 << 20)), client_seconds=0.3) as server:
        connection = connect(server, GET + b"\r\n")
        wait_for(lambda: any(channel.total_outbufs_len for channel in server.active_channels.values()))
        wait_for(lambda: not server.active_channels)
        connection.close()


def test_the_servers_own_time_does_not_count_against_the_client():
    with serving(App(lambda _: time.sleep(2.5) or b"late"), client_seconds=0.3) as server:
        assert exchange(server, GET + CLOSE).endswith(b"late")


def test_a_kept_connection_may_ask_again_and_again():
    with serving(client_seconds=1.5) as server:
        connection = connect(server)
        for _ in range(5):
            connection.sendall(GET + b"\r\n")
            assert status(read_response(connection)) == 200
            time.sleep(0.5)
        connection.close()


def test_a_new_connection_takes_the_place_of_the_one_that_has_waited_longest():
    with serving(connections=5) as server:
        held = []
        for number in range(5):
            held.append(connect(server))
            wait_for(lambda number=number: len(server.active_channels) == number + 1)
        for _ in range(3):
            assert is_answered(server)
        assert len(server.active_channels) <= 6
        assert read_to_end(held[0]) == b""
        held[4].sendall(GET + CLOSE)
        assert status(read_to_end(held[4])) == 200
        for connection in held:
            connection.close()


def test_ten_times_as_many_connections_as_allowed_leave_no_more_than_allowed():
    with serving(connections=20) as server:
        held = [connect(server, POST + b"Content-Length: 10\r\n\r\n") for _ in range(200)]
        assert is_answered(server)
        wait_for(lambda: len(server.active_channels) <= 20)
        for connection in held:
            connection.close()


def test_long_bodies_share_one_budget_and_short_ones_are_always_taken():
    with serving(buffered_bytes=150_000) as server:
        first = connect(server, POST + b"Content-Length: 200000\r\n\r\n" + b"a" * 120_000)
        wait_for(lambda: sum(channel.held_bytes for channel in server.active_channels.values()) == 120_000)
        second = connect(server, POST + b"Content-Length: 200000\r\n\r\n" + b"a" * 100_000)
        assert status(read_to_end(second)) == 503
        assert exchange(server, POST + b"Content-Length: 5\r\n" + CLOSE + b"short").endswith(b"5 bytes")
        first.close()
        wait_for(lambda: not server.active_channels)
        again = exchange(server, POST + b"Content-Length: 120000\r\n" + CLOSE + b"a" * 120_000)
        assert again.endswith(b"120000 bytes"), "what was held is free again"


def test_responses_that_nobody_takes_share_the_budget_and_the_oldest_go_first():
    with serving(App(lambda _: b"a" * (32 << 20)), buffered_bytes=70 << 20) as server:
        held = []
        for _ in range(6):
            connection = connect(server, GET + b"\r\n")
            begun = connection.recv(1)
            held.append(connection)
        wait_for(lambda: sum(channel.held_bytes for channel in list(server.active_channels.values())) < 70 << 20)
        assert len(read_to_end(held[0])) < 32 << 20
        assert len(read_response(held[-1], begun)) > 32 << 20
        for connection in held:
            connection.close()


def test_pipelined_requests_are_not_kept():
    app = App()
    with serving(app) as server:
        response = exchange(server, (GET + b"\r\n") * 100)
    assert response.count(b"HTTP/1.1 200 OK") == 1
    assert b"Connection: close" in response
    assert app.calls == 1


def test_an_extra_line_end_after_a_body_is_no_second_request():
    with serving() as server:
        connection = connect(server, POST + b"Content-Length: 2\r\n\r\nab\r\n")
        assert read_response(connection).endswith(b"2 bytes")
        connection.sendall(GET + CLOSE)
        assert status(read_to_end(connection)) == 200


def test_urgent_data_closes_a_connection():
    with serving() as server:
        connection = connect(server, b"GET /")
        wait_for(lambda: server.active_channels)
        connection.send(b"!", socket.MSG_OOB)
        wait_for(lambda: not server.active_channels)
        connection.close()


def test_a_fault_of_the_server_is_logged_without_what_was_sent(monkeypatch, caplog):
    def fail(self, data):
        raise RuntimeError(f"secret {data}")

    monkeypatch.setattr(BoundedParser, "received", fail)
    with serving() as server:
        assert exchange(server, b"my-secret\r\n\r\n") == b""
    assert "RuntimeError at" in caplog.text
    assert "secret" not in caplog.text


def test_clients_are_served_in_turn():
    queue = FairQueue(lambda channel: channel.client)
    for client, number in [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1), ("b", 2)]:
        queue.append(SimpleNamespace(client=client, number=number))
    served = []
    while queue:
        channel = queue.popleft()
        served.append(f"{channel.client}{channel.number}")
    assert served == ["a1", "b1", "c1", "a2", "b2", "a3"]
    with pytest.raises(KeyError):
        queue.popleft()


@pytest.mark.parametrize("proxies", [0, 1])
def test_a_client_with_many_requests_waits_for_itself(proxies):
    """One thread is busy, 20 requests of one client wait, then comes one of another. Behind a proxy the header names the client."""
    go_on, order = threading.Event(), []

    def respond(body):
        go_on.wait(20)
        order.append(body)
        return body

    def request(name):
        forwarded = b"X-Forwarded-For: 192.0.2.%d\r\n" % len(name)
        return POST + forwarded + b"Content-Length: %d\r\n" % len(name) + CLOSE + name

    with serving(App(respond), proxies=proxies) as server:
        flood = [connect(server, request(b"flood")) for _ in range(20)]
        wait_for(lambda: sum(bool(channel.requests) for channel in list(server.active_channels.values())) == 20)
        reader = connect(server, request(b"one"))
        wait_for(lambda: sum(bool(channel.requests) for channel in list(server.active_channels.values())) == 21)
        go_on.set()
        for connection in [*flood, reader]:
            assert status(read_to_end(connection)) == 200
    assert Counter(order) == {b"flood": 20, b"one": 1}
    assert order.index(b"one") == 20 if proxies == 0 else order.index(b"one") <= 2


def test_a_server_that_is_stopped_finishes_what_it_has_begun_and_accepts_no_more():
    entered, go_on = threading.Event(), threading.Event()

    def respond(_):
        entered.set()
        go_on.wait(20)
        return b"done"

    with serving(App(respond)) as server:
        under_way = connect(server, GET + b"\r\n")
        assert entered.wait(20)
        idle = connect(server, GET)
        wait_for(lambda: len(server.active_channels) == 2)
        server.stop()

        def refused():
            try:
                connect(server).close()
            except OSError:
                return True
            return False

        wait_for(refused)
        go_on.set()
        assert read_to_end(under_way).endswith(b"done")
        assert read_to_end(idle) == b""


def test_a_request_that_never_ends_does_not_keep_a_stopped_server_for_ever():
    go_on = threading.Event()
    with serving(App(lambda _: go_on.wait(60) or b""), stop_seconds=0.2) as server:
        stuck = connect(server, GET + b"\r\n")
        wait_for(lambda: any(channel.requests for channel in server.active_channels.values()))
        server.stop()
        assert read_to_end(stuck) == b""
        go_on.set()


def test_the_limits_fit_what_the_documentation_says():
    limits = Limits()
    assert limits.buffered_bytes + limits.connections * (limits.header_bytes + (64 << 10)) <= 112 << 20
