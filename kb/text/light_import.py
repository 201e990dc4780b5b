"""Import Whoosh and jieba without the modules that they name and kb has no use for: those take half of the import."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType

__all__ = ["light_import"]

_STAND_INS: dict[str, dict[str, object] | None] = {
    "urllib.request": {
        "urlretrieve": None
    },  # whoosh.compat offers it, and nothing of Whoosh takes it; it imports http, email and ssl
    "cached_property": {
        "cached_property": cached_property
    },  # the package imports asyncio for coroutines, of which Whoosh has none
    "pkg_resources": None,  # jieba can do without, and it looks at every package that is installed
}


@contextlib.contextmanager
def light_import() -> Iterator[None]:
    """Let what is imported meanwhile find these stand-ins, if the process has neither the modules themselves nor a second thread that may want them.

    A module whose stand-in is None cannot be imported meanwhile.
    """
    placed = [name for name in _STAND_INS if name not in sys.modules] if threading.active_count() == 1 else []
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment] # None there means: not to be imported
    for name in placed:
        stand_in = _STAND_INS[name]
        modules[name] = ModuleType(name) if stand_in is not None else None
        if stand_in is not None:
            vars(sys.modules[name]).update(stand_in)
    try:
        yield
    finally:
        for name in placed:
            del sys.modules[name]
