"""Several web processes with one Redis behave as one: a real Redis, a real `kb worker`, and servers as processes where that matters."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from sandbox.cluster.app import Queue, alive_key, started_key, wanted_key
from sandbox.cluster.worker import _show
from tests.redis_server import WAIT, WorkerProcess, await_that, free_port
from tests.small_checkout import link_checkout
from webapp.redis_feedback import RedisFeedback
from webapp.settings import SettingError

pytestmark = [pytest.mark.redis, pytest.mark.slow]

CASE = "linear-width-mismatch/plain"
JSON = {"Accept": "application/json"}


@pytest.fixture
def make_web(make_app, broker):
    """Makes an application as one of several; all are closed at the end, with or without their Redis."""
    apps = []

    def make(**config):
        apps.append(make_app(RUN=True, RUN_RATE="", REDIS=broker.url, MISSES="redis", **config))
        return apps[-1].test_client()

    yield make
    for app in apps:
        app.extensions["kb"].jobs.close()
        app.extensions["kb"].metrics.close()


@pytest.fixture
def first(make_web):
    return make_web()


@pytest.fixture
def second(make_web):
    return make_web()


@pytest.fixture
def worker(broker, tmp_path):
    process = WorkerProcess(broker.url, tmp_path / "worker.log", "--backend", "bubblewrap")
    try:
        broker.await_workers(process)
        yield process
    finally:
        process.stop()


@pytest.fixture
def deaf_worker(broker):
    """Shows itself as a worker does, and takes nothing."""
    _show(broker.client, [Queue("2.0.0", "cpu").name])


def press(client, case=CASE, address="192.0.2.1"):
    return client.post("/run", data={"case": case}, headers=JSON, environ_overrides={"REMOTE_ADDR": address})


def follow(client, job, until, seen=0):
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        state = client.get(f"{job['follow']}?seen={seen}", headers=JSON).json
        if until(state):
            return state
        time.sleep(0.05)
    raise AssertionError(state)


def over(state):
    return state["state"] in ("done", "cancelled", "failed")


def runs_counted(metrics):
    lines = [line for line in metrics.splitlines() if line.startswith("kb_runs_total{")]
    return {line.split('"')[1]: float(line.split()[-1]) for line in lines}


@pytest.mark.bubblewrap
@pytest.mark.torch
def test_a_run_that_starts_at_one_is_followed_at_another_and_counted_once(first, second, worker):
    job = press(first).json
    seen, events = 0, []
    while not over(state := follow(second, job, lambda state: state["events"] or over(state), seen)):
        events += state["events"]
        seen = len(events)
    events += state["events"]
    assert state["state"] == "done", worker.log
    assert [(event["role"], event["text"]) for event in events if event["stream"] == "end"] == [
        ("repro", "failed"),
        ("fix", "passed"),
    ]
    printed = "".join(event["text"] for event in events if event["stream"] == "stderr")
    assert "mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)" in printed
    assert first.get(f"{job['follow']}?seen=0", headers=JSON).json["events"] == events
    again = press(second, address="192.0.2.7").json
    assert (again["id"], again["state"]) == (job["id"], "done")
    second.get("/metrics")  # adds what it has counted
    assert runs_counted(first.get("/metrics").text) == {"passed": 2}
    page = second.get(job["follow"]).text
    assert "ran to its end" in page
    assert "refresh" not in page


@pytest.mark.bubblewrap
@pytest.mark.torch
def test_a_run_that_is_cancelled_at_another_ends_and_the_next_begins(first, second, worker):
    job = press(first).json
    second.post(job["cancel"], headers=JSON, environ_overrides={"REMOTE_ADDR": "192.0.2.1"})
    assert first.get(job["follow"], headers=JSON).json["state"] == "cancelled"
    following = press(second, "quiet-broadcast/plain").json
    assert follow(first, following, over)["state"] == "done", worker.log


def test_an_address_has_one_run_at_all_of_them_and_others_queue(first, second, deaf_worker):
    job = press(first).json
    assert (job["state"], job["ahead"]) == ("queued", 0)
    assert press(second).json["id"] == job["id"]
    assert press(second, "quiet-broadcast/plain").status_code == 429
    other = press(second, "quiet-broadcast/plain", address="192.0.2.2").json
    assert (other["state"], other["ahead"]) == ("queued", 1)
    cancel = {"headers": JSON, "environ_overrides": {"REMOTE_ADDR": "192.0.2.1"}}
    assert first.post(other["cancel"], **cancel).json["state"] == "queued"
    assert second.post(job["cancel"], **cancel).json["state"] == "cancelled"
    assert first.get(other["follow"], headers=JSON).json["ahead"] == 0
    assert press(first, "quiet-broadcast/plain").json["state"] == "queued"


def test_too_many_that_wait_are_told_so_at_all_of_them(first, second, deaf_worker, monkeypatch):
    monkeypatch.setattr("webapp.cluster_jobs.MAX_QUEUED", 1)
    assert press(first).status_code == 200
    refused = press(second, "quiet-broadcast/plain", address="192.0.2.2")
    assert refused.status_code == 429
    assert "Too many are waiting" in refused.json["message"]


def test_a_run_whose_reader_has_gone_is_cancelled_and_one_whose_worker_falls_silent_has_failed(
    broker, first, second, deaf_worker
):
    abandoned = press(first).json
    assert 0 < broker.client.ttl(wanted_key(abandoned["id"])) <= 15
    broker.client.delete(wanted_key(abandoned["id"]))
    assert second.get(abandoned["follow"], headers=JSON).json["state"] == "cancelled"
    job = press(first).json
    broker.client.set(started_key(job["id"]), "1")
    broker.client.set(alive_key(job["id"]), "1", ex=15)
    assert second.get(job["follow"], headers=JSON).json["state"] == "running"
    broker.client.delete(alive_key(job["id"]))
    assert second.get(job["follow"], headers=JSON).json["state"] == "failed"


@pytest.mark.torch
def test_a_worker_without_isolation_runs_nothing_for_readers(broker, tmp_path, first):
    process = WorkerProcess(broker.url, tmp_path / "worker.log")
    try:
        broker.await_workers(process)
        job = press(first).json
        state = follow(first, job, over)
    finally:
        process.stop()
    assert (state["state"], state["events"]) == ("failed", [])


def test_without_a_worker_a_run_says_that_it_cannot(first):
    refused = press(first)
    assert refused.status_code == 503
    assert "Nothing can be run" in refused.json["message"]
    page = first.post("/run?lang=zh", data={"case": CASE})
    assert page.status_code == 503
    assert "眼下没有能用的沙箱" in page.text


def test_without_redis_pages_and_lookups_go_on_and_everything_comes_back(broker, first, second, paste, deaf_worker):
    job = press(first).json
    first.get("/browse")
    broker.stop()
    for client in (first, second):
        assert client.post("/", data={"text": paste}).status_code == 200
        assert client.get("/e/quiet-broadcast").status_code == 200
        assert press(client, address="192.0.2.3").status_code == 503
        assert client.get(job["follow"], headers=JSON).status_code == 503
        assert client.get("/metrics").status_code == 503
        assert client.post("/helped", data={"entry": "quiet-broadcast", "helped": "yes"}).status_code < 500
    broker.start()
    _show(broker.client, [Queue("2.0.0", "cpu").name])
    assert press(second).json["state"] == "queued"
    numbers = first.get("/metrics").text
    assert 'kb_requests_total{method="GET",route="/browse",status="200"} 1.0' in numbers, "what was counted meanwhile"


def test_the_numbers_of_all_are_summed(first, second):
    for client in (first, second, second):
        client.get("/browse")
    second.get("/metrics")
    numbers = first.get("/metrics").text
    assert 'kb_requests_total{method="GET",route="/browse",status="200"} 3.0' in numbers
    bounds = [line.split('"')[1] for line in numbers.splitlines() if line.startswith("kb_request_seconds_bucket")]
    assert bounds == [*sorted(bounds[:-1], key=float), "+Inf"]


def test_misses_and_votes_of_all_are_counted_together(broker, first, second, capsys, monkeypatch):
    from kb.cli import main

    for client in (first, second):
        client.post("/", data={"text": "RuntimeError: the frobnicator of acme is of another kind"})
        client.post("/helped", data={"entry": "quiet-broadcast", "helped": "no"})
    monkeypatch.setenv("KB_REDIS", broker.url)
    monkeypatch.setenv("KB_WEB_MISSES", "redis")
    assert main(["misses"]) == 0
    assert capsys.readouterr().out.split() == ["2", *"RuntimeError: the frobnicator of acme is of another kind".split()]
    assert main(["misses", "--helped", "--json"]) == 0
    assert capsys.readouterr().out == '[{"entry": "quiet-broadcast", "helped": 0, "not_helped": 1}]\n'


def test_a_vote_takes_the_place_of_the_earlier_one_and_nothing_names_its_address(broker, monkeypatch):
    feedback = RedisFeedback(broker.url, max_messages=2)
    for helped in (False, False, True):
        feedback.count_vote("quiet-broadcast", helped=helped, cause=2, address="192.0.2.1")
    assert feedback.votes() == [("quiet-broadcast", 1, 0)]
    assert feedback.refused_causes() == [("quiet-broadcast", 2, 1)]
    assert not broker.client.keys("*192.0.2.1*")
    assert all(0 < broker.client.ttl(key) <= 86_400 for key in broker.client.keys("kb:votes:*"))
    monkeypatch.setattr("webapp.votes.MAX_VOICES", 2)
    feedback.count_vote("quiet-broadcast", helped=True, address="192.0.2.2")
    assert feedback.votes() == [("quiet-broadcast", 1, 0)]
    for message in ("a", "b", "c", "a"):
        feedback.count_miss(message)
    assert feedback.misses() == [("a", 2), ("b", 1)]


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"RUN": True, "WORKERS": 2}, "KB_WEB_RUN with several workers needs KB_REDIS"),
        ({"MISSES": "redis"}, "KB_WEB_MISSES"),
    ],
)
def test_what_needs_a_redis_says_so(make_app, config, named):
    with pytest.raises(SettingError, match=named):
        make_app(**config)


@contextmanager
def serving(broker, checkout, log, **settings):
    """`kb serve` as an operator starts it in a checkout; yields its address."""
    port = free_port()
    environment = {f"KB_WEB_{name}": value for name, value in settings.items()}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "kb", "serve", "--port", str(port)],
            env=os.environ
            | environment
            | {"KB_REDIS": broker.url, "PYTHONPATH": str(checkout), "KB_WEB_RATE": "3/minute"},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        await_that(lambda: fetch(f"{address}/healthz")[0] == 200, lambda: process.poll() is None, "the server answers")
        yield address
    finally:
        try:
            process.terminate()
            process.wait(30)
        finally:
            with_children = process.pid
            if process.poll() is None:
                os.killpg(with_children, signal.SIGKILL)
                process.wait(WAIT)


def fetch(address, text=None):
    try:
        with urllib.request.urlopen(address, data=text and text.encode(), timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, ""
    except OSError:
        return 0, ""


def test_servers_as_processes_offer_the_button_and_count_together(broker, tmp_path, paste, entries, monkeypatch):
    """Two machines, one of them with two processes."""
    monkeypatch.setenv("KB_ENTRIES", str(entries))
    checkout = link_checkout(tmp_path / "checkout", ["optim"])
    with (
        serving(broker, checkout, tmp_path / "one.log", WORKERS="2", RUN="yes") as one,
        serving(broker, checkout, tmp_path / "two.log", RUN="yes") as two,
    ):
        for address in (one, two):
            assert f'value="{CASE}"' in fetch(f"{address}/e/linear-width-mismatch")[1]
        statuses = [fetch(f"{(one, two)[number % 2]}/", f"text={paste}")[0] for number in range(6)]
        assert sorted(statuses) == [200, 200, 200, 429, 429, 429]
        counted = 'kb_requests_total{method="POST",route="/",status="429"} 3.0'
        await_that(
            lambda: all(counted in fetch(f"{address}/metrics")[1] for address in (one, two)), lambda: True, "sums"
        )
