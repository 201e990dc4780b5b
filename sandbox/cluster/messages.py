"""What client and worker say to each other: JSON of a fixed form, checked by a schema on both sides. Nothing in it is code of ours.

A program is text that a sandbox runs, an outcome is text that a sandbox printed. Neither side trusts the other to have kept the form.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal, get_args

from jsonschema_rs import Draft202012Validator

from sandbox.model import MIB, Ended, Frame, Limits, Outcome, Program, Raised

__all__ = [
    "Answer",
    "Batch",
    "Event",
    "MessageError",
    "decode_answer",
    "decode_batch",
    "decode_event",
    "decode_outcomes",
    "encode_batch",
    "encode_event",
    "encode_outcomes",
]

_MAX_PROGRAMS = 256
_MAX_SOURCE = MIB
_MAX_TEXT = 4 * MIB
_MAX_SECONDS = 3600
_FAILED = ["FAILURE", "REVOKED"]
"""The states in which Celery keeps an exception."""


class MessageError(Exception):
    """A message has not the form that was agreed."""


@dataclass(frozen=True, slots=True)
class Event:
    """A piece of what a program of a live batch printed (`stream` stdout or stderr, `text`), or how it ended (`stream` end, `outcome` without its output).

    `program` is its place in the batch.
    """

    program: int
    stream: Literal["stdout", "stderr", "end"]
    text: str = ""
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What Celery keeps of a batch: `state` as Celery names it, `result` of one that succeeded, `error` and its `text` of one that failed."""

    state: str
    result: object = None
    error: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Programs that one worker runs, in their order.

    `isolation`, `preload` and `packages` mean what they mean in `sandbox.run`; `environment` is the label of one. Of a batch that is `live`, the worker
    tells what the programs print while they run.
    """

    programs: tuple[Program, ...]
    isolation: Literal["each", "group", "all"] = "group"
    preload: tuple[str, ...] = ("torch",)
    environment: str = ""
    packages: tuple[str, ...] = ()
    live: bool = False

    @property
    def seconds(self) -> float:
        """The longest time that the programs may take together, without the start of workers."""
        return sum(program.limits.seconds for program in self.programs)


def encode_batch(batch: Batch) -> dict[str, Any]:
    """Return a batch as JSON data."""
    message: dict[str, Any] = _checked(_batch_schema(), _plain(asdict(batch)), "batch")
    return message


def decode_batch(data: object) -> Batch:
    """Return the batch that was sent. Raises `MessageError`."""
    fields = _checked(_batch_schema(), data, "batch")
    programs = tuple(map(_program, fields["programs"]))
    return Batch(**fields | {"programs": programs, **{name: tuple(fields[name]) for name in ("preload", "packages")}})


def _program(row: dict[str, Any]) -> Program:
    return Program(**row | {"limits": Limits(**row["limits"]), "preload": tuple(row["preload"])})


def encode_outcomes(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return the outcomes of a batch as JSON data."""
    rows: list[dict[str, Any]] = _checked(
        _outcomes_schema(), [_plain(asdict(outcome)) for outcome in outcomes], "result"
    )
    return rows


def decode_outcomes(data: object, batch: Batch) -> list[Outcome]:
    """Return the outcomes of a batch, one for each of its programs. Raises `MessageError`."""
    rows = _checked(_outcomes_schema(), data, "result")
    if [row["name"] for row in rows] != [program.name for program in batch.programs]:
        raise MessageError("the result is not that of these programs")
    return [Outcome(**row | {"raised": _raised(row["raised"])}) for row in rows]


def decode_answer(data: bytes | str) -> Answer:
    """Return what Celery has kept of a batch, without a class that the text names. Raises `MessageError`."""
    try:
        row = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"the answer is no JSON: {error}") from None
    _checked(_answer_schema(), row, "answer")
    result = row["result"]
    if row["status"] not in _FAILED:
        return Answer(row["status"], result)
    words = result["exc_message"]
    return Answer(
        row["status"], error=result["exc_type"], text=" ".join(map(str, words if isinstance(words, list) else [words]))
    )


def encode_event(event: Event) -> str:
    """Return an event as JSON text."""
    outcome = event.outcome and replace(event.outcome, stdout="", stderr="", raised=None)
    return json.dumps(_checked(_event_schema(), _plain(asdict(replace(event, outcome=outcome))), "event"))


def decode_event(data: str | bytes) -> Event:
    """Return the event that was sent. Raises `MessageError`."""
    try:
        row = json.loads(data)
    except ValueError as error:
        raise MessageError(f"an event is no JSON: {error}") from None
    fields = _checked(_event_schema(), row, "event")
    return Event(**fields | {"outcome": Outcome(**fields["outcome"]) if fields["outcome"] else None})


def _raised(row: dict[str, Any] | None) -> Raised | None:
    if row is None:
        return None
    frames = tuple(Frame(**frame) for frame in row["frames"])
    return Raised(row["type"], row["message"], frames, tuple((kind, text) for kind, text in row["causes"]))


def _plain(value: Any) -> Any:
    """Return data as JSON has it: lists for tuples, and no half of a surrogate pair, which a program may print and UTF-8 cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items()}
    return [_plain(child) for child in value] if isinstance(value, list | tuple) else value


def _checked(validator: Draft202012Validator, data: Any, what: str) -> Any:
    try:
        error = next(validator.iter_errors(data), None)
    except ValueError as failure:  # of texts that UTF-8 cannot hold
        raise MessageError(f"the {what} breaks the agreed form: {failure}") from None
    if error is None:
        return data
    place = ".".join(map(str, error.instance_path))
    raise MessageError(f"the {what} breaks the agreed form at {place or 'its root'}: {error.message[:200]}")


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _text(longest: int = _MAX_TEXT) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest}


def _count(largest: float, kind: str = "integer") -> dict[str, Any]:
    return {"type": kind, "minimum": 0, "maximum": largest}


def _or_none(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _texts_by_name() -> dict[str, Any]:
    return {"type": "object", "maxProperties": 300, "propertyNames": _text(200), "additionalProperties": _text(4096)}


@cache
def _batch_schema() -> Draft202012Validator:
    bytes_ = _count(1 << 40)
    modules = {"type": "array", "items": {"type": "string", "pattern": r"^[A-Za-z_][\w.]{0,99}$"}, "maxItems": 8}
    limits = _object(
        seconds=_count(_MAX_SECONDS, "number"),
        memory=bytes_,
        output=_count(_MAX_TEXT),
        pids=_count(4096),
        shm=bytes_,
        tmp=bytes_,
        cpus=_count(256, "number"),
        gpus=_count(16),
    )
    program = _object(
        source=_text(_MAX_SOURCE),
        limits=limits,
        name=_text(400),
        group=_text(400),
        fresh={"type": "boolean"},
        device={"enum": ["cpu", "cuda"]},
        env=_texts_by_name(),
        preload=modules,
    )
    return Draft202012Validator(
        _object(
            programs={"type": "array", "items": program, "minItems": 1, "maxItems": _MAX_PROGRAMS},
            isolation={"enum": ["each", "group", "all"]},
            preload=modules,
            environment={"type": "string", "pattern": r"^([a-z0-9][a-z0-9-]{0,60})?$"},
            packages={
                "type": "array",
                "items": {"type": "string", "pattern": r"^[a-z0-9][a-z0-9-]{0,99}$"},
                "maxItems": 256,
            },
            live={"type": "boolean"},
        )
    )


@cache
def _event_schema() -> Draft202012Validator:
    return Draft202012Validator(
        _object(
            program=_count(_MAX_PROGRAMS),
            stream={"enum": ["stdout", "stderr", "end"]},
            text=_text(),
            outcome=_or_none(_outcome()),
        )
    )


@cache
def _answer_schema() -> Draft202012Validator:
    failure = {"type": "object", "properties": {"exc_type": _text(200)}, "required": ["exc_type", "exc_message"]}
    return Draft202012Validator(
        {
            "type": "object",
            "properties": {"status": _text(100)},
            "required": ["status", "result"],
            "if": {"properties": {"status": {"enum": _FAILED}}},
            "then": {"properties": {"result": failure}},
        }
    )


@cache
def _outcomes_schema() -> Draft202012Validator:
    return Draft202012Validator({"type": "array", "items": _outcome(), "maxItems": _MAX_PROGRAMS})


def _outcome() -> dict[str, Any]:
    frame = _object(
        origin={"enum": ["program", "beside", "library", "other"]},
        module=_text(),
        line={"type": "integer"},
        function=_text(),
        text=_text(),
    )
    pair = {"type": "array", "prefixItems": [_text(), _text()], "items": False, "minItems": 2}
    raised = _object(
        type=_text(),
        message=_text(),
        frames={"type": "array", "items": frame, "maxItems": 1000},
        causes={"type": "array", "items": pair, "maxItems": 1000},
    )
    return _object(
        name=_text(400),
        ended={"enum": list(get_args(Ended))},
        exit_code=_or_none({"type": "integer"}),
        signal=_or_none({"type": "integer"}),
        finished={"type": "boolean"},
        raised=_or_none(raised),
        stdout=_text(),
        stderr=_text(),
        truncated={"type": "boolean"},
        seconds=_count(10 * _MAX_SECONDS, "number"),
        peak_memory=_or_none(_count(1 << 50)),
        backend=_text(200),
        detail=_text(),
        versions=_texts_by_name(),
    )
