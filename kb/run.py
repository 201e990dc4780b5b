"""Run one case of an entry, both its programs in one worker, their output as it comes."""

from __future__ import annotations

import ast
import dataclasses
import threading
from collections.abc import Callable

import sandbox
from kb.entry import Case

__all__ = ["ROLES", "counter_check", "image_backend", "programs", "run_case"]

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


def counter_check(case: Case) -> sandbox.Program:
    """Return the fix with its last assert turned round; the fix as it is when it has none.

    Run, it must end at that very assert: an assert that holds either way proves nothing, and a program that only pretends to reach its end does not
    know which of the two it is asked for.
    """
    source = case.fix.source
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]
    if not found:
        return programs(case)[1]
    test = max(found, key=lambda node: node.lineno).test
    assert test.end_lineno is not None
    assert test.end_col_offset is not None
    lines = source.encode().split(b"\n")
    end, start = lines[test.end_lineno - 1], test.lineno - 1
    lines[test.end_lineno - 1] = end[: test.end_col_offset] + b")" + end[test.end_col_offset :]
    lines[start] = lines[start][: test.col_offset] + b"not (" + lines[start][test.col_offset :]
    return dataclasses.replace(programs(case)[1], source=b"\n".join(lines).decode(), name=f"{case.id}:counter-check")


def image_backend(backend: str, image: str) -> str:
    """Return the sandbox to ask for: where a folder names an image, `auto` means docker, the one sandbox that has images."""
    return "docker" if image and backend == "auto" else backend


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
        backend=image_backend(backend, case.image),
        runtime=runtime,
        python=python,
        image=case.image or None,
        trust_gpu=trust_gpu,
        cancel=cancel,
        on_output=lambda number, stream, text: on_output(ROLES[number], stream, text),
        on_outcome=lambda number, outcome: on_outcome(ROLES[number], outcome),
    )
    return repro, fix
