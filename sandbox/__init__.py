"""Runs Python programs that nobody trusts, and says exactly how each of them ended.

`run` is the way in; `backends` tells what works on this machine. Knows nothing of entries.
"""

from sandbox.backends import backends, choose
from sandbox.model import BackendStatus, BackendUnavailable, Limits, Options, Outcome, Program, SandboxError
from sandbox.schedule import run
from sandbox.text import printable
from sandbox.worker import Backend

__all__ = [
    "Backend",
    "BackendStatus",
    "BackendUnavailable",
    "Limits",
    "Options",
    "Outcome",
    "Program",
    "SandboxError",
    "backends",
    "choose",
    "printable",
    "run",
]
