"""Run the cases of entries in the sandbox and judge them by the rules of the format.

A repro must end as its entry says, its fix must run to its last line, and what the repro printed must lead back to the entry. Nothing inside a program
decides that: only exit status, output, and whether its last statement was reached.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Literal

import sandbox
from kb.answer import lookup
from kb.corpus import Corpus
from kb.entry import Case, Entry
from kb.index import Index
from kb.ledger import Record, case_hash
from kb.printed import exceptions_in, final_exception, matches, shorten_paths, warnings_in
from kb.rules.programs import asserts, same_assert
from kb.run import counter_check, image_backend, programs
from kb.template import compile_template

__all__ = ["Environment", "Run", "Verdict", "judge", "select", "to_record", "verify"]

_PRINTED_LIMIT = 8000
_PRELOAD = {"entry": ("torch",), "corpus": ("torch", "torch._dynamo")}
"""Every optimizer imports torch._dynamo, which takes as long as torch itself: one worker for all imports it once."""

_GPU_PROBE = """
import subprocess, torch
driver = subprocess.run(
    ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True
).stdout.split()
print(f"{torch.cuda.get_device_name(0)}, driver {' '.join(driver[:1])}, CUDA {torch.version.cuda}")
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where the cases ran: torch's version as it calls itself, the sandbox's backend, and the GPU if there was one."""

    torch: str
    backend: str
    gpu: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a case came out. `faults` say what is wrong, with the line of the entry's file; `reason` says why it did not run here."""

    case: Case
    outcome: Literal["passed", "failed", "not run here"]
    faults: tuple[tuple[int, str], ...] = ()
    reason: str = ""
    repro: sandbox.Outcome | None = None
    fix: sandbox.Outcome | None = None

    @property
    def seconds(self) -> float:
        """The time that repro and fix took together."""
        return sum(outcome.seconds for outcome in (self.repro, self.fix) if outcome)


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run: its verdicts in the order of the cases, and where it ran; None when no case could."""

    verdicts: tuple[Verdict, ...]
    environment: Environment | None
    complete: bool = True

    @property
    def proved(self) -> bool:
        """Whether at least one case passed and none failed; a run that proved nothing is a failure."""
        outcomes = [verdict.outcome for verdict in self.verdicts]
        return self.complete and "passed" in outcomes and "failed" not in outcomes


def select(corpus: Corpus, slugs: Sequence[str] = ()) -> list[Case]:
    """Return the cases of these entries (`slug` or `slug/case`), of all when none are named; raises KeyError with a slug that does not exist."""
    if not slugs:
        return [case for entry in corpus for case in entry.cases]
    found = []
    for slug in slugs:
        entry = corpus.get(slug.partition("/")[0])
        cases = [case for case in entry.cases if "/" not in slug or slug == case.id] if entry else []
        if not cases:
            raise KeyError(slug)
        found += cases
    return found


def verify(
    corpus: Corpus,
    cases: Sequence[Case],
    index: Index,
    *,
    device: str = "cpu",
    backend: str = "auto",
    isolation: Literal["entry", "corpus"] = "entry",
    jobs: int = 1,
    runtime: str | None = None,
    trust_gpu: bool = False,
    python: str | None = None,
    image: str | None = None,
    fail_fast: bool = False,
    cancel: threading.Event | None = None,
    on_verdict: Callable[[Verdict], None] = lambda _verdict: None,
) -> Run:
    """Run every case that this device can run, both its programs, and judge it; `on_verdict` hears of each as it is known.

    With isolation "entry" nothing is taken on trust: each entry has a worker of its own, and each fix runs once more with its last assert turned
    round. Cases whose folder names an image run in that one, unless `image` names another for all. Raises `sandbox.BackendUnavailable` when there is
    no such sandbox here.
    """
    cancel = cancel or threading.Event()
    here = sorted((case for case in cases if not _elsewhere(case, device, backend)), key=lambda case: case.image)
    verdicts = {
        case.id: Verdict(case, "not run here", reason=_elsewhere(case, device, backend))
        for case in cases
        if _elsewhere(case, device, backend)
    }
    for verdict in verdicts.values():
        on_verdict(verdict)
    if not here:
        return Run(tuple(verdicts[case.id] for case in cases), None)
    stride = 3 if isolation == "entry" else 2
    asked = [program for case in here for program in (*programs(case), counter_check(case))[:stride]]
    if device == "cuda":
        asked.append(
            sandbox.Program(_GPU_PROBE, name="probe", group="probe", device="cuda", limits=sandbox.Limits(gpus=1))
        )
    parts: dict[int, sandbox.Outcome] = {}
    images = [image or here[min(number // stride, len(here) - 1)].image for number in range(len(asked))]

    def heard(first: int, place: int, outcome: sandbox.Outcome) -> None:
        parts[first + place] = outcome
        at = (first + place) // stride
        outcomes = [parts[i] for i in range(stride * at, stride * (at + 1)) if i in parts]
        if at >= len(here) or len(outcomes) < stride or any(part.ended == "cancelled" for part in outcomes):
            return
        case = here[at]
        verdicts[case.id] = judge(corpus.entries[case.entry], case, index, *outcomes)
        on_verdict(verdicts[case.id])
        if fail_fast and verdicts[case.id].outcome == "failed":
            cancel.set()

    for wanted, places in groupby(range(len(asked)), key=images.__getitem__):
        first, *_ = numbers = tuple(places)
        sandbox.run(
            [asked[number] for number in numbers],
            backend=image_backend(backend, wanted),
            isolation="group" if isolation == "entry" else "all",
            jobs=jobs,
            preload=_PRELOAD[isolation],
            runtime=runtime,
            trust_gpu=trust_gpu,
            python=python,
            image=wanted or None,
            cancel=cancel,
            on_outcome=partial(heard, first),
        )
    done = tuple(verdicts[case.id] for case in cases if case.id in verdicts)
    gpu = parts.get(stride * len(here))
    return Run(done, _environment(parts.values(), gpu), complete=len(done) == len(cases))


def judge(
    entry: Entry,
    case: Case,
    index: Index,
    repro: sandbox.Outcome,
    fix: sandbox.Outcome,
    counter: sandbox.Outcome | None = None,
) -> Verdict:
    """Judge what repro and fix did, and the counter-check where it ran; the verdict has every fault that was found."""
    faults = [*_judge_repro(entry, case, repro), *_judge_fix(case, fix)]
    if counter is not None and not faults:
        faults += _judge_counter(case, counter)
    if not faults:
        faults += [(case.repro.line, what) for what in _leads_back(entry, repro, index)]
    return Verdict(case, "failed" if faults else "passed", tuple(faults), repro=repro, fix=fix)


def to_record(verdict: Verdict, environment: Environment) -> Record:
    """Return what the ledger keeps of a verdict."""
    printed = shorten_paths(sandbox.printable(verdict.repro.stderr)) if verdict.repro else ""
    if len(printed) > _PRINTED_LIMIT:
        printed = printed[: _PRINTED_LIMIT // 2] + "\n…\n" + printed[-_PRINTED_LIMIT // 2 :]
    return Record(
        hash=case_hash(verdict.case),
        outcome=verdict.outcome,
        printed=printed,
        seconds=round(verdict.seconds, 3),
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        torch=environment.torch,
        device=verdict.case.device,
        backend=environment.backend,
        gpu=environment.gpu,
    )


def _elsewhere(case: Case, device: str, backend: str) -> str:
    """Why a case cannot run on this device in this sandbox, or an empty string."""
    if case.os:
        return f"needs {case.os}"
    if case.device != device:
        return f"needs {case.device}" + (f" with {case.gpus} GPUs" if case.gpus > 1 else "")
    if backend == "process" and (case.shm or case.memory):
        return "needs a sandbox that holds memory: docker or bubblewrap"
    return ""


def _environment(outcomes: Iterable[sandbox.Outcome], gpu: sandbox.Outcome | None) -> Environment | None:
    """Where the programs ran, as their workers said; None when no worker came up."""
    for outcome in outcomes:
        if "torch" in outcome.versions:
            name = sandbox.printable(gpu.stdout).strip()[:120] if gpu and gpu.exit_code == 0 else ""
            return Environment(outcome.versions["torch"], outcome.backend, name)
    return None


def _judge_repro(entry: Entry, case: Case, repro: sandbox.Outcome) -> Iterator[tuple[int, str]]:
    line = case.repro.line
    if repro.ended != "exit":
        yield line, f"the repro did not end by itself: {_how(repro)}"
    elif entry.kind == "warning":
        yield from _judge_warning(entry, case, repro)
    elif repro.exit_code == 0:
        yield line, "the repro ran through; it must fail as its entry says"
    else:
        raised = final_exception(repro.stderr)
        if raised is None:
            yield line, f"the repro ended with exit status {repro.exit_code} but printed no traceback of its own"
        elif entry.kind == "silent":
            yield from _judge_assert(case, raised.type, raised.line)
        elif not any(
            matches(template, *printed)
            for template in map(compile_template, _texts(entry))
            for printed in exceptions_in(repro.stderr)
        ):
            shown = raised.message.strip().split("\n")[0]
            yield line, f"no message of the entry matches what the repro printed: {raised.type}: {shown[:300]}"


def _judge_warning(entry: Entry, case: Case, repro: sandbox.Outcome) -> Iterator[tuple[int, str]]:
    seen = warnings_in(repro.stderr)
    if repro.exit_code != 0 or not repro.finished:
        yield case.repro.line, f"the repro of a warning must run through: {_how(repro)}"
    if not any(
        matches(template, category, text)
        for template in map(compile_template, _texts(entry))
        for category, text in seen
    ):
        shown = (
            "; ".join(f"{category}: {text.strip().split(chr(10))[0][:200]}" for category, text in seen) or "no warning"
        )
        yield case.repro.line, f"no message of the entry matches what the repro printed: {shown}"


def _judge_assert(case: Case, type_: str, line: int | None) -> Iterator[tuple[int, str]]:
    """A silent repro fails at an assert of its own, and that very assert stands in the fix."""
    if type_ != "AssertionError":
        yield case.repro.line, f"the repro of a silent pitfall must end in AssertionError, not {type_}"
        return
    failed = next(
        (
            node
            for node in asserts(case.repro.source)
            if line and node.lineno <= line <= (node.end_lineno or node.lineno)
        ),
        None,
    )
    if failed is None:
        yield case.repro.line, "the AssertionError does not come from an assert of the repro"
    elif not any(same_assert(failed, other) for other in asserts(case.fix.source)):
        yield (
            case.repro.line + failed.lineno - 1,
            "the assert that failed does not stand in the fix; use the very same one in both",
        )


def _judge_fix(case: Case, fix: sandbox.Outcome) -> Iterator[tuple[int, str]]:
    if fix.ended != "exit" or fix.exit_code != 0:
        raised = final_exception(fix.stderr)
        what = f"{raised.type}: {raised.message.strip()[:300]}" if raised else _how(fix)
        yield case.fix.line + (raised.line - 1 if raised and raised.line else 0), f"the fix fails: {what}"
    elif not fix.finished:
        yield case.fix.line, "the fix ended before its last line; it must run through"
    for category, text in warnings_in(fix.stderr):
        yield case.fix.line, f"the fix emits a warning: {category}: {text.strip().split(chr(10))[0][:300]}"


def _judge_counter(case: Case, counter: sandbox.Outcome) -> Iterator[tuple[int, str]]:
    if counter.ended != "exit" or counter.exit_code == 0 or "AssertionError" not in counter.stderr:
        raised = final_exception(counter.stderr)
        what = f"{raised.type}: {raised.message[:200]}" if raised else _how(counter)
        yield (
            case.fix.line,
            f"the fix's last assert proves nothing: turned round it must fail, but the program ended with {what}",
        )


def _leads_back(entry: Entry, repro: sandbox.Outcome, index: Index) -> Iterator[str]:
    """What was printed must be answered with this entry first; of a silent pitfall it must not be answered with another."""
    answer = lookup(repro.stderr, index=index)
    first = answer.matches[0] if answer.matches else None
    if entry.kind == "silent":
        if answer.answered and first and first.id != entry.id:
            yield f"what the repro prints is answered with {first.id} ({first.confidence})"
    elif first is None or not answer.answered:
        yield "what the repro prints finds no entry; its message is not among the entry's messages"
    elif first.id != entry.id:
        yield f"what the repro prints leads to {first.id} ({first.confidence}) instead; make the message more specific"


def _texts(entry: Entry) -> Iterable[str]:
    return (message.text for message in entry.messages)


def _how(outcome: sandbox.Outcome) -> str:
    said = {
        "time": f"stopped after {outcome.seconds:.1f} s",
        "memory": "out of memory",
        "output": "too much output",
        "pids": "too many processes",
        "signal": f"killed by signal {outcome.signal}",
        "refused": f"not run ({outcome.detail})",
        "cancelled": "cancelled",
        "exit": f"exit status {outcome.exit_code}",
    }
    return said[outcome.ended]
