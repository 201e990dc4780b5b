"""The server behind `kb serve`: it answers many at once, ends cleanly, replaces dead workers, and its documentation tells the truth."""

import errno
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from webapp.server import ServeError, serve
from webapp.settings import SETTINGS, table

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parent.parent.parent
SERVE = """
import sys
from pathlib import Path
from webapp.server import serve

host, port, entries, *settings = sys.argv[1:]
settings = dict(setting.split("=", 1) for setting in settings)
numbers = {name: int(settings[name]) for name in ("WORKERS",) if name in settings}
serve(host, int(port), {"FOLDERS": [Path(entries)], "RATE": "", **settings, **numbers})
"""
SERVE_SLOWLY = """
import sys, time
from dataclasses import replace
from pathlib import Path
from webapp.server import serve
from webapp.snapshot import SnapshotProvider

class SlowProvider(SnapshotProvider):
    def current(self):
        snapshot = super().current()

        def look_up(text, **options):
            time.sleep(1.5)
            return snapshot.lookup(text, **options)

        return replace(snapshot, lookup=look_up)

serve(sys.argv[1], int(sys.argv[2]), {"SNAPSHOTS": SlowProvider([Path(sys.argv[3])], refresh_seconds=0), "RATE": ""})
"""

SERVE_LATE = """
import sys, time
from pathlib import Path
from webapp.server import serve

class LateFolders:
    def __iter__(self):
        print("reading", file=sys.stderr, flush=True)
        while not Path(sys.argv[4]).exists():
            time.sleep(0.05)
        yield Path(sys.argv[3])

serve(sys.argv[1], int(sys.argv[2]), {"FOLDERS": LateFolders(), "RATE": ""})
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serving(entries, *settings, host="127.0.0.1", program=SERVE):
    """A server that answers: its process, its address, and `log()`, which returns what it has written so far."""
    port = free_port()
    command = [sys.executable, "-c", program, host, str(port), str(entries), *settings]
    with tempfile.NamedTemporaryFile("r") as log:
        with Path(log.name).open("w") as stderr:
            process = subprocess.Popen(command, cwd=REPOSITORY, stderr=stderr)
        try:
            address = await_address(process, host, port)
            yield SimpleNamespace(process=process, address=address, log=lambda: Path(log.name).read_text("utf-8"))
        finally:
            process.terminate()
            try:
                process.wait(30)
            finally:
                process.kill()


def await_address(process, host, port):
    """The server's address, once it answers there."""
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}".replace("[::]", "127.0.0.1")
    for _ in range(600):
        try:
            fetch(f"{address}/healthz")
        except OSError:
            assert process.poll() is None, "the server has ended"
            time.sleep(0.1)
        else:
            return address
    raise AssertionError("the server does not answer")


def stop(server):
    """Tell the server to stop; return its exit status."""
    server.process.send_signal(signal.SIGTERM)
    return server.process.wait(30)


@pytest.fixture
def server(entries):
    with serving(entries) as running:
        yield running


@pytest.fixture
def two_workers(entries):
    with serving(entries, "WORKERS=2") as running:
        wait_for(lambda: running.log().count("is ready") == 2)
        yield running


def fetch(address, text=None):
    with urllib.request.urlopen(address, data=text and text.encode(), timeout=30) as response:
        return response.status, response.read().decode()


def wait_for(condition):
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


def ready_workers(server):
    """The process ids of the workers that have become ready, in that order."""
    return [int(pid) for pid in re.findall(r"worker (\d+) is ready", server.log())]


def is_answered(address):
    try:
        return fetch(f"{address}/healthz")[0] == 200
    except OSError:
        return False


def test_many_clients_at_once_and_a_log_line_each(server):
    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda _: fetch(f"{server.address}/")[0], range(64)))
    assert statuses == [200] * 64
    assert stop(server) == 0
    assert server.log().count('"route": "/"') == 64
    assert "Traceback" not in server.log()


def test_a_request_under_way_is_finished_when_the_server_is_told_to_stop(entries):
    with serving(entries, program=SERVE_SLOWLY) as server, ThreadPoolExecutor(1) as pool:
        response = pool.submit(fetch, f"{server.address}/", "text=slow")
        time.sleep(0.5)
        server.process.send_signal(signal.SIGTERM)
        assert response.result(timeout=20)[0] == 200
        assert server.process.wait(20) == 0


def test_limits_hold_for_chunked_bodies(entries, paste):
    def post(address, body):
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
        try:
            connection.request("POST", "/api/v1/lookup", body, {"Content-Type": "text/plain"}, encode_chunked=True)
            return connection.getresponse().status
        except (BrokenPipeError, ConnectionResetError):
            return 413  # the server stopped reading
        finally:
            connection.close()

    with serving(entries, "RATE=2/minute") as server:
        assert post(server.address, iter([b"a" * 65536] * 17)) == 413
        assert post(server.address, iter([b"a" * 65536] * 1000)) == 413
        assert [post(server.address, iter([paste.encode()])) for _ in range(3)] == [200, 200, 429]


def test_the_numbers_of_several_workers_are_summed(two_workers):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: fetch(f"{two_workers.address}/browse"), range(40)))
    numbers = fetch(f"{two_workers.address}/metrics")[1]
    assert 'kb_requests_total{method="GET",route="/browse",status="200"} 40.0' in numbers


def test_a_dead_worker_is_replaced_and_all_end_with_the_server(two_workers):
    dead = ready_workers(two_workers)[0]
    os.kill(dead, signal.SIGKILL)
    wait_for(lambda: len(ready_workers(two_workers)) == 3)
    assert f"worker {dead} ended with status -9 and is replaced" in two_workers.log()
    assert is_answered(two_workers.address)
    assert stop(two_workers) == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in ready_workers(two_workers))


def test_workers_end_when_their_parent_is_killed(two_workers):
    two_workers.process.kill()
    two_workers.process.wait(30)
    wait_for(lambda: not is_answered(two_workers.address))


def test_a_worker_that_cannot_start_ends_the_server(entries):
    command = [sys.executable, "-c", SERVE, "127.0.0.1", str(free_port()), str(entries), "WORKERS=2", "RATE=often"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "KB_WEB_RATE=often" in done.stderr
    assert "ServeError: a worker ended before it was ready" in done.stderr


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_two_colons_listen_for_both_kinds_of_addresses(entries):
    with serving(entries, host="::") as server:
        port = server.address.rpartition(":")[2]
        assert is_answered(f"http://127.0.0.1:{port}")
        assert is_answered(f"http://[::1]:{port}")


def test_nobody_is_let_in_before_the_entries_are_read(entries, tmp_path):
    port, may_read, log = free_port(), tmp_path / "may-read", tmp_path / "log"
    command = [sys.executable, "-c", SERVE_LATE, "127.0.0.1", str(port), str(entries), str(may_read)]
    with log.open("w") as stderr:
        process = subprocess.Popen(command, cwd=REPOSITORY, stderr=stderr)
    try:
        wait_for(lambda: "reading" in log.read_text("utf-8"))
        with socket.socket() as early:
            assert early.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED
        may_read.touch()
        await_address(process, "127.0.0.1", port)
    finally:
        process.kill()
        process.wait(30)


@pytest.mark.parametrize("port", [0, -1, 99999])
def test_an_impossible_port_is_told_in_one_line(port):
    with pytest.raises(ServeError, match="no port has the number"):
        serve(port=port)


def test_a_taken_address_is_told_in_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ServeError, match="cannot listen on"):
        serve(port=taken.getsockname()[1])


def test_the_documented_example_works(server, capsys):
    text = (REPOSITORY / "docs/web.md").read_text("utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    exec(compile(example.replace("http://127.0.0.1:8000", server.address), "docs/web.md", "exec"), {})
    assert (
        capsys.readouterr().out == "exact linear-width-mismatch Give `first` as many outputs as the next layer takes.\n"
    )


def test_the_documented_curl_command_works(server, tmp_path):
    text = (REPOSITORY / "docs/web.md").read_text("utf-8")
    command = re.search(r"```sh\n.*?\| (curl .*?)\n```", text, re.DOTALL).group(1)
    message = b"RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x127 and 128x64)"
    done = subprocess.run(
        command.replace("http://127.0.0.1:8000", server.address),
        shell=True,
        input=message,
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert b'"answered":true' in done.stdout.replace(b" ", b"")


def test_the_table_of_settings_is_the_one_in_the_documentation():
    assert table() in (REPOSITORY / "docs/web.md").read_text("utf-8")


def compose_services():
    return yaml.safe_load((REPOSITORY / "compose.yaml").read_text("utf-8"))["services"]


@pytest.mark.parametrize("name", ["web", "replica"])
def test_the_compose_file_sets_only_what_there_is_and_asks_for_health(name):
    web = compose_services()[name]
    variables = {setting.variable for setting in SETTINGS}
    assert {variable for variable in web["environment"] if variable != "KB_CACHE"} <= variables
    assert "/healthz" in " ".join(web["healthcheck"]["test"])


def test_every_service_of_the_compose_file_has_limits_a_health_check_and_no_rights():
    services = compose_services()
    assert services.keys() == {"web", "proxy", "replica", "redis", "worker"}
    for service in services.values():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert "no-new-privileges:true" in service["security_opt"]
        assert service.keys() >= {"healthcheck", "mem_limit", "pids_limit", "restart"}
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        assert not any("docker.sock" in str(volume) for volume in service.get("volumes", ()))
    assert "ports" not in services["redis"]
