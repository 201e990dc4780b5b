"""Names that say which process made a resource, so that the leftovers of a dead process can be found and removed."""

from __future__ import annotations

import itertools
import os

from sandbox.policy import NAME

_counter = itertools.count(1)


def owned_name() -> str:
    """Return a new name with this process's id: `kb-sandbox-<pid>-<n>`."""
    return f"{NAME}-{os.getpid()}-{next(_counter)}"


def stale(name: str) -> bool:
    """Return True for a name that was made by a process which no longer exists; False for names that are not ours."""
    parts = name.removeprefix(NAME + "-").split("-")
    if not name.startswith(NAME + "-") or len(parts) < 2 or not parts[0].isdigit():
        return False
    try:
        os.kill(int(parts[0]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
