"""Import Whoosh without the parts of the standard library that it names and never uses: they take half of its import."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType

__all__ = ["light_import"]

_STAND_INS: dict[str, dict[str, object]] = {
    "urllib.request": {
        "urlretrieve": None
    },  # whoosh.compat offers it, and nothing of Whoosh takes it; it imports http, email and ssl
    "cached_property": {
        "cached_property": cached_property
    },  # the package imports asyncio for coroutines, of which Whoosh has none
}


@contextlib.contextmanager
def light_import() -> Iterator[None]:
    """Let what is imported meanwhile find these stand-ins, if the process has neither the modules themselves nor a second thread that may want them."""
    placed = [name for name in _STAND_INS if name not in sys.modules] if threading.active_count() == 1 else []
    for name in placed:
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(_STAND_INS[name])
    try:
        yield
    finally:
        for name in placed:
            del sys.modules[name]
