"""Which worker runs what, seen with workers that are only pretended."""

import threading
from typing import ClassVar

import pytest

from sandbox import Limits, Outcome, Program, run, scheduler
from sandbox.model import WorkerFailed


class Pretended:
    """A worker that notes what happens to it."""

    events: ClassVar[list] = []
    fail_at: ClassVar[set] = set()
    started = 0

    def __init__(self, backend, spec):
        Pretended.started += 1
        self.number = Pretended.started
        self.spec = spec
        self.usable = True
        self.events.append(("start", self.number))

    def wait_ready(self, cancel):
        if self.number in self.fail_at:
            self.usable = False
            raise WorkerFailed(f"worker {self.number} did not start")
        return not cancel.is_set()

    def run(self, program, cancel, on_text):
        self.events.append((program.name, self.number))
        if program.source == "break":
            self.usable = False
        return Outcome(program.name, "exit", 0, finished=True)

    def close(self):
        self.events.append(("close", self.number))


class Backend:
    name = "pretended"

    def sweep(self):
        Pretended.events.append("sweep")


@pytest.fixture(autouse=True)
def pretended(monkeypatch):
    monkeypatch.setattr(scheduler, "Worker", Pretended)
    monkeypatch.setattr(scheduler, "choose", lambda *_: Backend())
    monkeypatch.setattr(Pretended, "events", [])
    monkeypatch.setattr(Pretended, "fail_at", set())
    monkeypatch.setattr(Pretended, "started", 0)


def named(*names, **options):
    return [Program("pass", name=name, **options) for name in names]


def test_leftovers_are_swept_before_anything_starts():
    run(named("a"))
    assert Pretended.events[0] == "sweep"


def test_the_next_worker_starts_before_the_present_one_has_run():
    run(named("a", "b", "c"), isolation="each")
    events = Pretended.events
    assert events.index(("start", 2)) < events.index(("a", 1))
    assert events.index(("start", 3)) < events.index(("b", 2))
    assert Pretended.started == 3


def test_every_worker_is_closed():
    run(named("a", "b", "c"), isolation="each", jobs=2)
    assert {number for what, number in Pretended.events[1:] if what == "close"} == set(range(1, Pretended.started + 1))


def test_groups_keep_their_order_and_share():
    programs = [Program("pass", name=name, group=name[0]) for name in ("a1", "b1", "a2", "b2")]
    run(programs, isolation="group")
    ran = [event for event in Pretended.events[1:] if event[0] not in {"start", "close"}]
    assert ran == [("a1", 1), ("a2", 1), ("b1", 2), ("b2", 2)]


def test_several_jobs_share_one_batch():
    run(named(*"abcdefgh"), isolation="all", jobs=3)
    assert Pretended.started <= 3


def test_broken_workers_are_replaced():
    run([Program("break", name="a"), Program("pass", name="b")], isolation="all")
    assert [event for event in Pretended.events if event[0] in {"a", "b"}] == [("a", 1), ("b", 2)]


def test_one_failed_start_is_tried_again():
    Pretended.fail_at = {1}
    assert run(named("a"), isolation="all")[0].passed


def test_two_failed_starts_refuse_the_rest():
    Pretended.fail_at = set(range(1, 100))
    outcomes = run(named(*"abcdef"), isolation="all")
    assert {outcome.ended for outcome in outcomes} == {"refused"}
    assert Pretended.started == 2
    assert outcomes[5].detail == "worker 2 did not start"


def test_a_worker_ahead_that_fails_is_not_the_present_programs_fault():
    Pretended.fail_at = {2}
    assert [outcome.ended for outcome in run(named("a", "b"), isolation="each")] == ["exit", "exit"]


def test_cuda_programs_never_share():
    run(named("a", "b", device="cuda"), isolation="all")
    assert Pretended.started == 2


def test_limits_of_time_and_output_need_no_other_worker():
    run([Program("pass", Limits(seconds=1)), Program("pass", Limits(output=5))], isolation="all")
    assert Pretended.started == 1


def test_fresh_programs_get_a_worker_that_preloads_nothing():
    chosen = []
    run(named("a"), on_outcome=lambda *_: chosen.append(True))
    run([Program("pass", fresh=True)])
    assert chosen == [True]


def test_cancel_from_a_callback_leaves_the_rest():
    cancel = threading.Event()
    outcomes = run(named("a", "b", "c"), isolation="all", cancel=cancel, on_outcome=lambda *_: cancel.set())
    assert [outcome.ended for outcome in outcomes] == ["exit", "cancelled", "cancelled"]
