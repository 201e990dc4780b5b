"""Runs a case or a check of an entry for a reader: its programs in one worker, their output as it comes."""

from __future__ import annotations

import threading
from collections.abc import Callable

import sandbox
from kb.corpus.entry import Role, Runnable
from kb.verify.case_jobs import programs
from kb.verify.environments import required_installation

__all__ = ["image_backend", "run_case"]


def image_backend(backend: str, image: str) -> str:
    """Return the sandbox to use: where a folder names an image, `auto` means docker, which alone has images."""
    return "docker" if image and backend == "auto" else backend


def run_case(
    case: Runnable,
    *,
    backend: str = "auto",
    runtime: str | None = None,
    python: str | None = None,
    trust_gpu: bool = False,
    cancel: threading.Event | None = None,
    on_output: Callable[[Role, str, str], None] = lambda _role, _stream, _text: None,
    on_outcome: Callable[[Role, sandbox.Outcome], None] = lambda _role, _outcome: None,
) -> dict[Role, sandbox.Outcome]:
    """Run repro, then fix, or a check's program; return the outcomes by role.

    `on_output` is called with (role, "stdout" or "stderr", text) as the text comes, `on_outcome` with (role, outcome) as each program ends. Text is as
    the program printed it: pass it through `sandbox.printable` before it reaches a terminal. Raises `sandbox.SandboxError` where that sandbox does not
    work, or what the case requires is not built.
    """
    roles = list(case.blocks)
    chosen = image_backend(backend, case.image)
    environment = None
    if case.requires and not python:
        chosen = sandbox.choose(chosen, sandbox.Options(runtime=runtime)).name
        environment = required_installation(case, chosen)
    outcomes = sandbox.run(
        programs(case),
        backend=chosen,
        environment=environment,
        runtime=runtime,
        python=python,
        image=case.image or None,
        trust_gpu=trust_gpu,
        cancel=cancel,
        on_output=lambda index, stream, text: on_output(roles[index], stream, text),
        on_outcome=lambda index, outcome: on_outcome(roles[index], outcome),
    )
    return dict(zip(roles, outcomes, strict=True))
