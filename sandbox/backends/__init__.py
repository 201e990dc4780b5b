"""The ways to isolate a worker, strongest first."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.backends.bubblewrap import Bubblewrap
from sandbox.backends.docker import Docker
from sandbox.backends.process import Process
from sandbox.model import DEFAULTS, BackendStatus, BackendUnavailable, Options
from sandbox.worker import Backend

BACKENDS: dict[str, Callable[[Options], Backend]] = {"docker": Docker, "bubblewrap": Bubblewrap, "process": Process}
NEVER_AUTOMATIC = {"process"}


def backends(options: Options = DEFAULTS) -> list[BackendStatus]:
    """Return each backend's status, strongest first."""
    return [make(options).status() for make in BACKENDS.values()]


def choose(name: str = "auto", options: Options = DEFAULTS) -> Backend:
    """Return the backend of that name; "auto" is the strongest that works, never `process`.

    Raises BackendUnavailable, whose message says for each candidate what is missing.
    """
    if name != "auto" and name not in BACKENDS:
        raise BackendUnavailable(f"no sandbox backend is called {name!r}; there are {', '.join(BACKENDS)}")
    candidates = [name] if name != "auto" else [backend for backend in BACKENDS if backend not in NEVER_AUTOMATIC]
    reasons = []
    for candidate in candidates:
        backend = BACKENDS[candidate](options)
        status = backend.status()
        if status.works:
            return backend
        reasons.append(f"{candidate}: {status.detail}")
    raise BackendUnavailable("no sandbox works here. " + "; ".join(reasons))
