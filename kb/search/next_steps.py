"""What to try next with an error that no entry answers: one step for each family of errors, true of all of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from functools import cache

from kb.text.languages import Lang
from kb.text.program_messages import SIGNALS
from kb.text.tracebacks import ErrorSpan

__all__ = ["next_step"]

_STEPS_FILE = os.path.join(os.path.dirname(__file__), "data", "next_steps.json")

_MAX_MESSAGE = 2_000

_BY_MESSAGE = {
    "memory": r"out of memory|cannot allocate|alloc_cpu|bad_alloc|MemoryError",
    "distributed": r"nccl|gloo|\bddp\b|rendezvous|process group|store->|TCPStore|watchdog",
    "network": (
        r"connection (?:refused|reset|aborted|timed out)|ConnectionError|Max retries|ProxyError|SSLError|HTTPError|ReadTimeout"
        r"|couldn't connect|resolve host"
    ),
    "cuda": r"\bcuda error|device-side assert|cublas|cudnn|cusolver|cufft|illegal memory access",
    "build": r"\bninja|nvcc|\bgcc\b|\bg\+\+|cmake|failed building wheel|error: command|ld returned",
    "arguments": r"unexpected keyword argument|positional argument|multiple values for argument|incompatible function arg",
}
"""What in the type or the message of an error shows its family."""

_BY_TYPE = {
    "ImportError": "import",
    "ModuleNotFoundError": "import",
    "AttributeError": "attribute",
    "NameError": "python",
    "KeyError": "lookup",
    "IndexError": "lookup",
    "FileNotFoundError": "file",
    "NotADirectoryError": "file",
    "IsADirectoryError": "file",
    "PermissionError": "file",
    "SyntaxError": "python",
    "TypeError": "python",
    "ValueError": "python",
    "AssertionError": "python",
    "CalledProcessError": "build",
}


def next_step(errors: Sequence[ErrorSpan]) -> dict[Lang, str]:
    """Return what to try next with the first of these errors, in both languages."""
    return _steps()[_family(errors[0]) if errors else "question"]


@cache
def _steps() -> dict[str, dict[Lang, str]]:
    with open(_STEPS_FILE, encoding="utf-8") as file:
        steps: dict[str, dict[Lang, str]] = json.load(file)
    return steps


def _family(error: ErrorSpan) -> str:
    if error.type in SIGNALS:
        return "signal"
    if error.role == "warning":
        return "warning"
    message = f"{error.type}: {error.message[:_MAX_MESSAGE]}"
    by_message = next((family for family, words in _BY_MESSAGE.items() if re.search(words, message, re.IGNORECASE)), "")
    return by_message or _BY_TYPE.get(error.type.rpartition(".")[2], "other")
