"""The Run button: stored programs only, a few at a time, cancelled when asked, kept when done, never without a sandbox."""

import threading
import time
from types import SimpleNamespace

import pytest

from kb.verify.environments import NotBuilt
from webapp.jobs import JobPool

CASE = "linear-width-mismatch/plain"
JSON = {"Accept": "application/json"}


class Sandbox:
    """Stands in for `kb.verify.case_runner.run_case`: remembers the cases that it was given and waits until `go_on` is set."""

    def __init__(self):
        self.ran = []
        self.go_on = threading.Event()
        self.backends = set()

    def __call__(self, case, *, backend, cancel, on_output, on_outcome):
        self.ran.append(case.id)
        self.backends.add(backend)
        for part in (
            '  File "/opt/lib/python3.12/site-pack',
            'ages/torch/nn.py"\n',
            "\x1b[31mRuntimeError: first\x1b[0m\n",
        ):
            on_output("repro", "stderr", part)
        while not self.go_on.wait(0.01):
            if cancel.is_set():
                on_outcome("repro", SimpleNamespace(passed=False, ended="cancelled", seconds=0.1))
                return
        on_outcome("repro", SimpleNamespace(passed=False, ended="exit", seconds=0.123))
        on_outcome("fix", SimpleNamespace(passed=True, ended="exit", seconds=0.2))


@pytest.fixture
def sandbox():
    fake = Sandbox()
    yield fake
    fake.go_on.set()


@pytest.fixture
def client(make_app, sandbox):
    return make_app(RUN=True, RUN_RATE="", RUN_CASE=sandbox).test_client()


def press(client, case=CASE, address="192.0.2.1", **headers):
    return client.post(
        "/run", data={"case": case}, headers={**JSON, **headers}, environ_overrides={"REMOTE_ADDR": address}
    )


def follow(client, job, until, seen=0):
    for _ in range(300):
        state = client.get(f"{job['follow']}?seen={seen}", headers=JSON).json
        if until(state):
            return state
        time.sleep(0.01)
    raise AssertionError(state)


def over(state):
    return state["state"] in ("done", "cancelled", "failed")


def test_off_unless_the_operator_says_so(make_app):
    client = make_app().test_client()
    assert press(client).status_code == 404
    assert "data-run" not in client.get("/e/linear-width-mismatch").text


def test_only_cases_for_this_machines_cpu_have_the_button(client):
    page = client.get("/e/linear-width-mismatch").text
    assert f'value="{CASE}"' in page
    assert 'value="linear-width-mismatch/on-gpu"' not in page
    assert press(client, "linear-width-mismatch/on-gpu").status_code == 404


def test_output_comes_as_it_is_printed_and_then_how_it_ended(client, sandbox):
    job = press(client).json
    first = follow(client, job, lambda state: len(state["events"]) == 2)
    assert first["state"] == "running"
    assert {(event["role"], event["stream"]) for event in first["events"]} == {("repro", "stderr")}
    assert "".join(event["text"] for event in first["events"]) == '  File "…/torch/nn.py"\nRuntimeError: first\n'
    sandbox.go_on.set()
    last = follow(client, job, over, seen=2)
    assert [(event["role"], event["stream"], event["text"]) for event in last["events"]] == [
        ("repro", "end", "failed"),
        ("fix", "end", "passed"),
    ]


def runs_counted(client):
    lines = client.get("/metrics").text.splitlines()
    pairs = (
        line.removeprefix('kb_runs_total{outcome="').split('"} ') for line in lines if line.startswith("kb_runs_total")
    )
    return {outcome: float(count) for outcome, count in pairs}


@pytest.mark.parametrize(
    ("case", "repro", "fix", "counted"),
    [
        (CASE, (False, "exit"), (True, "exit"), {"passed": 2}),  # each does what it should
        (CASE, (True, "exit"), (False, "exit"), {"failed": 2}),
        (CASE, (False, "time"), (True, "exit"), {"time": 1, "passed": 1}),
        (
            "loader-seed-warning/plain",
            (True, "exit"),
            (True, "exit"),
            {"passed": 2},
        ),  # the repro of a warning runs through
        ("loader-seed-warning/plain", (False, "exit"), (True, "exit"), {"failed": 1, "passed": 1}),
    ],
)
def test_a_program_that_ends_as_it_should_is_counted_as_passed(make_app, case, repro, fix, counted):
    def run(case, *, on_outcome, **options):
        for role, (passed, ended) in (("repro", repro), ("fix", fix)):
            on_outcome(role, SimpleNamespace(passed=passed, ended=ended, seconds=0.1))

    client = make_app(RUN=True, RUN_RATE="", RUN_CASE=run).test_client()
    follow(client, press(client, case).json, over)
    assert runs_counted(client) == counted


def test_nothing_of_the_request_is_run(client, sandbox):
    sandbox.go_on.set()
    for case in ("nix", "nix/nix", "", "linear-width-mismatch", "../x", "import os"):
        assert press(client, case).status_code == 404
    job = client.post("/run", data={"case": CASE, "source": "import os", "repro": "import os"}, headers=JSON).json
    follow(client, job, over)
    assert sandbox.ran == [CASE]


def test_a_second_press_costs_nothing(client, sandbox):
    sandbox.go_on.set()
    job = press(client).json
    follow(client, job, over)
    again = press(client, address="192.0.2.7").json
    assert again["state"] == "done"
    assert len(again["events"]) == 4
    assert sandbox.ran == [CASE]


def test_others_wait_in_a_queue_whose_length_is_told(client, sandbox):
    running_job = press(client, address="192.0.2.1").json
    follow(client, running_job, lambda state: state["state"] == "running")
    second = press(client, "quiet-broadcast/plain", address="192.0.2.2").json
    third = press(client, "loader-seed-warning/plain", address="192.0.2.3").json
    assert (second["state"], second["ahead"]) == ("queued", 0)
    assert (third["state"], third["ahead"]) == ("queued", 1)
    sandbox.go_on.set()
    follow(client, third, over)
    assert sandbox.ran == [CASE, "quiet-broadcast/plain", "loader-seed-warning/plain"]


def test_one_address_has_one_run_at_a_time(client, sandbox):
    job = press(client).json
    assert press(client).json["id"] == job["id"]
    refused = press(client, "quiet-broadcast/plain")
    assert refused.status_code == 429
    assert "run under way" in refused.json["message"]
    assert refused.headers["Retry-After"]


def test_a_running_and_a_queued_job_can_be_cancelled_by_their_owner_only(client, sandbox):
    first = press(client, address="192.0.2.1").json
    follow(client, first, lambda state: state["state"] == "running")
    second = press(client, "quiet-broadcast/plain", address="192.0.2.2").json

    def cancel(job, address):
        return client.post(job["cancel"], headers=JSON, environ_overrides={"REMOTE_ADDR": address})

    assert cancel(second, "192.0.2.9").json["state"] == "queued"
    assert cancel(second, "192.0.2.2").json["state"] == "cancelled"
    cancel(first, "192.0.2.1")
    assert follow(client, first, over)["state"] == "cancelled"
    assert press(client, "quiet-broadcast/plain", address="192.0.2.2").json["state"] in ("queued", "running")
    assert sandbox.ran[0] == CASE


def test_a_sandbox_that_breaks_is_told_without_its_text(make_app):
    def broken(*args, **options):
        raise RuntimeError("no engine at /secret/socket")

    client = make_app(RUN=True, RUN_CASE=broken).test_client()
    job = press(client).json
    state = follow(client, job, over)
    assert state["state"] == "failed"
    assert "secret" not in str(state)


def test_a_case_whose_environment_is_not_built_says_so(make_app):
    def not_built(*args, **options):
        raise NotBuilt("the environment tiny is not built")

    client = make_app(RUN=True, RUN_CASE=not_built).test_client()
    state = follow(client, press(client).json, over)
    assert state["state"] == "failed"
    assert "the environment tiny is not built" in str(state["events"])


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
def test_another_site_can_neither_start_nor_cancel(client, sandbox, headers):
    assert press(client, **headers).status_code == 403
    assert sandbox.ran == []
    job = press(client).json
    assert client.post(job["cancel"], headers={**JSON, **headers}).status_code == 403


def test_jobs_end_with_the_server(sandbox, snapshots):
    pool = JobPool(1, "auto", run=sandbox)
    cases = [case for entry in snapshots.current().corpus for case in entry.cases[:1]]
    jobs = [pool.start(case, str(number), repro_fails=True) for number, case in enumerate(cases)]
    pool.close()
    for _ in range(300):
        if all(job.over for job in jobs):
            break
        time.sleep(0.01)
    assert {job.state for job in jobs} == {"cancelled"}
    assert len(sandbox.ran) <= 1


def test_too_many_runs_are_told_when_to_come_back(make_app, sandbox):
    sandbox.go_on.set()
    client = make_app(RUN=True, RUN_RATE="1/minute", RUN_CASE=sandbox).test_client()
    assert press(client).status_code == 200
    refused = press(client)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0


def test_without_script_a_page_follows_the_run(client, sandbox):
    answer = client.post("/run?lang=zh", data={"case": CASE})
    assert answer.status_code == 303
    page = client.get(answer.location).text
    assert '<html lang="zh-Hans">' in page
    assert 'http-equiv="refresh"' in page
    sandbox.go_on.set()
    follow(client, press(client).json, over)
    page = client.get(answer.location).text
    assert "refresh" not in page
    assert "RuntimeError: first" in page
    assert "跑完了" in page


@pytest.mark.bubblewrap
def test_a_case_really_runs(make_app):
    client = make_app(RUN=True, RUN_BACKEND="bubblewrap").test_client()
    job = press(client).json
    deadline = time.monotonic() + 90
    while not over(state := client.get(job["follow"], headers=JSON).json) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert state["state"] == "done"
    ends = {event["role"]: event["text"] for event in state["events"] if event["stream"] == "end"}
    assert ends == {"repro": "failed", "fix": "passed"}
    printed = "".join(event["text"] for event in state["events"] if event["stream"] == "stderr")
    assert "mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)" in printed
