"""The production server: it answers many at once, finishes what it has begun, and its documentation tells the truth."""

import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from webapp.settings import SETTINGS, table

REPOSITORY = Path(__file__).parent.parent.parent
SERVER = """
import sys, time
from pathlib import Path
from webapp.knowledge import Knowledge, Library
from webapp.server import serve

library = Library([Path(sys.argv[1])], refresh_seconds=0)
known = library.current()

def slowly(text, **options):
    time.sleep(1.5 if "slow" in text else 0)
    return known.lookup(text, **options)

library._knowledge = Knowledge(known.corpus, known.ledgers, slowly, known.stamp)
serve(port=int(sys.argv[2]), config={"LIBRARY": library, "RATE": "", "LOG": "json", "WORKERS": int(sys.argv[3])})
"""


@pytest.fixture(params=[1])
def server(entries, request):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(entries), str(port), str(request.param)],
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
        text=True,
    )
    address = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            fetch(f"{address}/healthz")
            break
        except OSError:
            time.sleep(0.1)
    yield process, address
    process.terminate()
    process.communicate(timeout=20)


def fetch(address, text=None):
    with urllib.request.urlopen(address, data=text and text.encode(), timeout=30) as response:
        return response.status, response.read().decode()


def test_many_clients_at_once_and_a_log_line_each(server, paste):
    process, address = server
    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda _: fetch(f"{address}/")[0], range(64)))
    assert statuses == [200] * 64
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=20)
    assert process.returncode == 0
    assert log.count('"route": "/"') == 64
    assert "Traceback" not in log


@pytest.mark.parametrize("server", [2], indirect=True)
def test_the_numbers_of_several_workers_are_summed(server):
    _, address = server
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: fetch(f"{address}/browse"), range(40)))
    assert 'kb_requests_total{method="GET",route="/browse",status="200"} 40.0' in fetch(f"{address}/metrics")[1]


def test_a_request_under_way_is_finished_when_the_server_is_told_to_stop(server):
    process, address = server
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(fetch, f"{address}/", "text=slow")
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert asked.result(timeout=20)[0] == 200
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_the_documented_example_works(server, capsys):
    text = (REPOSITORY / "docs/web.md").read_text("utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    exec(compile(example.replace("http://127.0.0.1:8000", server[1]), "docs/web.md", "exec"), {})
    assert capsys.readouterr().out == "exact linear-width-mismatch Your input has 127 columns.\n"


def test_the_documented_curl_command_works(server, tmp_path):
    text = (REPOSITORY / "docs/web.md").read_text("utf-8")
    command = re.search(r"```sh\n.*?\| (curl .*?)\n```", text, re.DOTALL).group(1)
    message = b"RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x127 and 128x64)"
    done = subprocess.run(
        command.replace("http://127.0.0.1:8000", server[1]),
        shell=True,
        input=message,
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert b'"answered":true' in done.stdout.replace(b" ", b"")


def test_the_table_of_settings_is_the_one_in_the_documentation():
    assert table() in (REPOSITORY / "docs/web.md").read_text("utf-8")


def test_the_compose_file_sets_only_what_there_is_and_asks_for_health():
    web = yaml.safe_load((REPOSITORY / "compose.yaml").read_text("utf-8"))["services"]["web"]
    names = {name.removeprefix("KB_WEB_") for name in web["environment"] if name.startswith("KB_WEB_")}
    assert names <= {item.name for item in SETTINGS}
    assert "/healthz" in " ".join(web["healthcheck"]["test"])
    assert (web["read_only"], web["cap_drop"]) == (True, ["ALL"])
    assert all(port.startswith("127.0.0.1:") for port in web["ports"])
