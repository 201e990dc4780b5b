"""Runs Python programs that nobody trusts, and reports exactly how each of them ended.

`run` is the entry point; `backends` returns what works on this machine. The package knows nothing of entries.
"""

from sandbox.backends import backends, choose
from sandbox.model import (
    BackendStatus,
    BackendUnavailable,
    Frame,
    Limits,
    Options,
    Outcome,
    Program,
    Raised,
    SandboxError,
)
from sandbox.scheduler import run
from sandbox.text import printable
from sandbox.worker import Backend

__all__ = [
    "Backend",
    "BackendStatus",
    "BackendUnavailable",
    "Frame",
    "Limits",
    "Options",
    "Outcome",
    "Program",
    "Raised",
    "SandboxError",
    "backends",
    "choose",
    "printable",
    "run",
]
