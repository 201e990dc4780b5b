"""Run one case of an entry, both its programs in one worker, their output as it comes."""

from __future__ import annotations

import threading
from collections.abc import Callable

import sandbox
from kb.entry import Case

__all__ = ["ROLES", "programs", "run_case"]

ROLES = ("repro", "fix")


def programs(case: Case) -> tuple[sandbox.Program, sandbox.Program]:
    """Return what the sandbox is given for a case: its repro and its fix."""
    asked = {"seconds": case.timeout, "memory": case.memory, "shm": case.shm, "gpus": case.gpus or None}
    limits = sandbox.Limits(**{name: value for name, value in asked.items() if value is not None})  # type: ignore[arg-type]
    repro, fix = (
        sandbox.Program(
            block.source,
            name=f"{case.id}:{role}",
            group=case.entry,
            limits=limits,
            fresh=case.fresh,
            device="cuda" if case.device == "cuda" else "cpu",
        )
        for role, block in zip(ROLES, (case.repro, case.fix), strict=True)
    )
    return repro, fix


def run_case(
    case: Case,
    *,
    backend: str = "auto",
    runtime: str | None = None,
    python: str | None = None,
    trust_gpu: bool = False,
    cancel: threading.Event | None = None,
    on_output: Callable[[str, str, str], None] = lambda _role, _stream, _text: None,
    on_outcome: Callable[[str, sandbox.Outcome], None] = lambda _role, _outcome: None,
) -> tuple[sandbox.Outcome, sandbox.Outcome]:
    """Run repro, then fix; return both outcomes.

    `on_output` hears (role, "stdout" or "stderr", text) as the text comes, `on_outcome` (role, outcome) as each program ends. Text is as the program
    printed it: pass it through `sandbox.printable` before it reaches a terminal. Raises `sandbox.SandboxError` when there is no such sandbox here.
    """
    repro, fix = sandbox.run(
        programs(case),
        backend=backend,
        runtime=runtime,
        python=python,
        trust_gpu=trust_gpu,
        cancel=cancel,
        on_output=lambda number, stream, text: on_output(ROLES[number], stream, text),
        on_outcome=lambda number, outcome: on_outcome(ROLES[number], outcome),
    )
    return repro, fix
