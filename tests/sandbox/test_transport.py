"""What a worker sends is checked: a response that no worker sends ends the conversation, and floods stay small."""

import base64
import io
import threading
import time

import pytest

from sandbox import Limits, Outcome, Program
from sandbox.model import WorkerFailed, WorkerSpec
from sandbox.policy import MAX_RESPONSE
from sandbox.transport import ExitReport, ResponseReader, last_line, parse
from sandbox.worker import Worker, WorkerHandle

SPEC = WorkerSpec(memory=1 << 30, pids=64, shm=1, tmp=1, cpus=1, gpus=0, device="cpu", preload=())
READY = {"event": "ready", "key": "k", "versions": {"python": "3"}}
DONE = {
    "event": "outcome",
    "key": "k",
    "id": 1,
    "ended": "exit",
    "exit_code": 0,
    "finished": True,
    "clean": True,
    "seconds": 0.1,
}


class Scripted:
    """A transport with given responses; the last may be an exception."""

    def __init__(self, responses, report=None):
        self.responses = list(responses)
        self.report = report or ExitReport()
        self.sent = []
        self.closed = 0

    def send(self, line):
        self.sent.append(line)

    def receive(self, timeout):
        if not self.responses:
            time.sleep(min(timeout, 0.01))
            return None
        response = self.responses.pop(0)
        if isinstance(response, type):
            raise response
        return response

    def close(self):
        self.closed += 1
        return self.report


class Stub:
    name = "stub"

    def __init__(self, transport):
        self.transport = transport

    def launch(self, spec):
        return WorkerHandle(self.transport, {}, lambda program: {"source": program.source})


PROGRAM = Program("pass", Limits(seconds=0.2))


def ask(*responses, report=None, heard=None):
    transport = Scripted(responses, report)
    worker = Worker(Stub(transport), SPEC)
    outcome = worker.run(PROGRAM, threading.Event(), lambda *what: heard.append(what) if heard is not None else None)
    return outcome, worker, transport


def output(data, stream="stdout", key="k"):
    return {"event": "output", "key": key, "stream": stream, "data": base64.b64encode(data).decode()}


def test_an_honest_conversation():
    heard = []
    outcome, worker, transport = ask(READY, output(b"a"), output(b"b", "stderr"), DONE, heard=heard)
    assert outcome.passed
    assert (outcome.stdout, outcome.stderr, outcome.versions) == ("a", "b", {"python": "3"})
    assert heard == [("stdout", "a"), ("stderr", "b")]
    assert worker.usable
    assert transport.closed == 0


@pytest.mark.parametrize(
    "forged",
    [
        {**DONE, "key": "guessed"},
        {key: value for key, value in DONE.items() if key != "key"},
        output(b"x", key=None),
        output(b"x", "stdin"),
        {**output(b"x"), "data": "not base64!"},
        {**output(b"x"), "data": 7},
        output(b"x" * (Limits().output + 1)),
    ],
    ids=["key", "no key", "output without key", "stream", "base64", "number", "too much"],
)
def test_an_answer_that_no_worker_gives_ends_the_worker(forged):
    outcome, worker, transport = ask(READY, forged, DONE)
    assert not outcome.passed
    assert outcome.ended == "signal"
    assert not worker.usable
    assert transport.closed == 1


@pytest.mark.parametrize(
    ("wrong", "field", "value"),
    [
        ({"ended": "triumph"}, "ended", "signal"),
        ({"ended": ["exit"]}, "ended", "signal"),
        ({"exit_code": "0"}, "exit_code", None),
        ({"exit_code": True}, "exit_code", None),
        ({"finished": 1}, "finished", False),
        ({"ended": "time", "finished": True}, "finished", False),
        ({"seconds": "fast"}, "passed", True),
        ({"seconds": float("nan")}, "passed", True),
        ({"seconds": 10**400}, "passed", True),
        ({"raised": {"type": "ValueError"}}, "raised", None),
        ({"raised": "nonsense"}, "raised", None),
        ({"peak": [1]}, "peak_memory", None),
    ],
)
def test_fields_of_the_wrong_type_count_for_nothing(wrong, field, value):
    outcome, _, _ = ask(READY, {**DONE, **wrong})
    assert getattr(outcome, field) == value


def test_an_old_outcome_is_not_taken_for_the_present_one():
    outcome, _, _ = ask(READY, {**DONE, "id": 0, "exit_code": 5}, DONE)
    assert outcome.exit_code == 0


def test_a_silent_worker_is_ended_after_deadline_and_grace():
    outcome, worker, transport = ask(READY)
    assert outcome.ended == "time"
    assert not worker.usable
    assert transport.closed == 1


def test_a_worker_that_dies_is_blamed_on_its_program():
    outcome, _, _ = ask(READY, EOFError, report=ExitReport(detail="killed"))
    assert (outcome.ended, outcome.signal, outcome.detail) == ("signal", 9, "it took its worker down: killed")
    outcome, _, _ = ask(READY, EOFError, report=ExitReport(out_of_memory=True))
    assert outcome.ended == "memory"


def test_a_worker_that_does_not_start():
    with pytest.raises(WorkerFailed, match="the stub worker did not start: no such file"):
        ask(EOFError, report=ExitReport(detail="no such file"))


def test_an_unclean_worker_is_not_used_again():
    outcome, worker, _ = ask(READY, {**DONE, "clean": False})
    assert outcome.passed
    assert not worker.usable


def test_cancelled_before_ready():
    cancel = threading.Event()
    cancel.set()
    worker = Worker(Stub(Scripted([])), SPEC)
    assert worker.run(Program("pass"), cancel, lambda *_: None) == Outcome("program", "cancelled", backend="stub")


@pytest.mark.parametrize("line", [b"", b"[]", b"1", b"{}", b'{"event": 1}', b"\xff", b"[" * 100_000, b"hello"])
def test_lines_that_are_no_answers(line):
    assert parse(line) is None


def collect(data):
    reader = ResponseReader(io.BytesIO(data).read1)
    found = []
    try:
        while True:
            found.append(reader.receive(5))
    except EOFError:
        return found


def test_answers_stop_at_the_first_line_that_is_none():
    assert collect(b'{"event": "a"}\nnonsense\n{"event": "b"}\n') == [{"event": "a"}]


def test_a_line_without_end_is_not_kept():
    assert collect(b'{"event": "a"}\n' + b"x" * (3 * MAX_RESPONSE)) == [{"event": "a"}]


def test_a_line_cut_into_pieces_is_put_together():
    pieces = [b'{"ev', b'ent": "a"}\n{"event"', b': "b"}\n', b""]
    reader = ResponseReader(lambda: pieces.pop(0))
    assert [reader.receive(5), reader.receive(5)] == [{"event": "a"}, {"event": "b"}]


def test_last_line():
    assert last_line(b"one\n two \n\n") == "two"
    assert last_line(b"") == ""
    assert len(last_line(b"x" * 5000)) == 300
