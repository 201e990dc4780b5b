"""Batches and outcomes survive the way as JSON, and nothing of another form gets through."""

import json
from dataclasses import replace

import pytest

from sandbox import Frame, Limits, Outcome, Program, Raised
from sandbox.cluster.messages import (
    Answer,
    Batch,
    Event,
    MessageError,
    decode_answer,
    decode_batch,
    decode_event,
    decode_outcomes,
    encode_batch,
    encode_event,
    encode_outcomes,
)

PROGRAM = Program("print('你好')", Limits(seconds=3, gpus=1), "a:repro", "a", fresh=True, device="cuda", env={"A": "b"})
BATCH = Batch(
    (PROGRAM, Program("", name="a:fix")), "all", ("torch", "torch._dynamo"), "tiny-0a1b2c", ("kb-tiny",), live=True
)
RAISED = Raised("ValueError", "m", (Frame("library", "torch.nn", 3, "f", "x"),), (("KeyError", "'k'"),))
OUTCOMES = [
    Outcome("a:repro", "exit", 1, raised=RAISED, stdout="\x00 是", versions={"torch": "2.13.0"}),
    Outcome("a:fix", "signal", signal=9, finished=True, peak_memory=5),
]


def sent(data):
    return json.loads(json.dumps(data))


def test_a_batch_comes_back_as_it_was():
    assert decode_batch(sent(encode_batch(BATCH))) == BATCH


def test_half_a_surrogate_pair_comes_back_readable():
    (outcome,) = decode_outcomes(
        sent(encode_outcomes([Outcome("a:repro", "exit", stdout="\ud800")])), Batch((PROGRAM,))
    )
    assert outcome.stdout == "\\ud800"


def test_outcomes_come_back_as_they_were():
    assert decode_outcomes(sent(encode_outcomes(OUTCOMES)), BATCH) == OUTCOMES


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("isolation",), "none"),
        (("preload",), ["os; import sys"]),
        (("programs",), []),
        (("programs", 0, "source"), 5),
        (("programs", 0, "device"), "tpu"),
        (("programs", 0, "limits", "seconds"), 1e9),
        (("programs", 0, "limits", "memory"), -1),
        (("programs", 0, "limits", "more"), 1),
        (("programs", 0, "env"), {"A": 1}),
        (("trust_gpu",), True),
        (("environment",), "../tiny"),
        (("packages",), ["--index-url"]),
        (("live",), 1),
    ],
)
def test_a_batch_of_another_form_is_refused(path, value):
    message = encode_batch(BATCH)
    inner = message
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(MessageError):
        decode_batch(message)


@pytest.mark.parametrize("data", [None, 3, "text", [], {}, [[]]])
def test_what_is_no_batch_is_refused(data):
    with pytest.raises(MessageError):
        decode_batch(data)


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[:1],
        lambda rows: rows[::-1],
        lambda rows: [*rows, rows[0]],
        lambda rows: [rows[0] | {"ended": "well"}, rows[1]],
        lambda rows: [rows[0] | {"passed": True}, rows[1]],
        lambda rows: [rows[0] | {"raised": {"type": "x"}}, rows[1]],
        lambda rows: {"0": rows},
        lambda rows: [rows[0] | {"stdout": "\ud800", "ended": "well"}, rows[1]],
    ],
)
def test_a_result_of_another_form_is_refused(change):
    with pytest.raises(MessageError):
        decode_outcomes(change(encode_outcomes(OUTCOMES)), BATCH)


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04K\x01.",
        b"\xff",
        b"[" * 100_000,
        b"null",
        b"[1]",
        b"{}",
        b'{"status": 1, "result": null}',
        b'{"status": "FAILURE", "result": "text"}',
        b'{"status": "FAILURE", "result": {"exc_module": "os", "exc_message": ["true"]}}',
    ],
)
def test_an_answer_of_another_form_is_refused(data):
    with pytest.raises(MessageError):
        decode_answer(data)


def test_an_answer_tells_the_name_of_an_error_and_makes_none():
    kept = {"exc_type": "system", "exc_module": "os", "exc_message": ["true", 3]}
    data = json.dumps({"status": "FAILURE", "result": kept, "traceback": None}).encode()
    assert decode_answer(data) == Answer("FAILURE", error="system", text="true 3")


def test_an_event_comes_back_and_an_outcome_without_its_output():
    printed = Event(1, "stdout", "是\n")
    assert decode_event(encode_event(printed)) == printed
    ended = decode_event(encode_event(Event(0, "end", outcome=OUTCOMES[0])))
    assert ended.outcome == replace(OUTCOMES[0], stdout="", raised=None)


@pytest.mark.parametrize(
    "data", ["", "{}", "[1]", '{"program": 0, "stream": "stdin", "text": "", "outcome": null}', b"\xff"]
)
def test_an_event_of_another_form_is_refused(data):
    with pytest.raises(MessageError):
        decode_event(data)
