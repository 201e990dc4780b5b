"""Import Whoosh and jieba without the modules that they name and kb has no use for: those take half of the import."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["light_import"]


class _Later(ModuleType):
    """Stands for a module whose functions are called later or never, and imports it when one is called."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any, **named: Any) -> Any:
            from importlib import import_module

            return getattr(import_module(self.__name__), name)(*arguments, **named)

        return call


def _stand_ins() -> dict[str, ModuleType | None]:
    """Return what stands for each module; None: jieba can do without it, and it looks at every package that is installed."""
    modules: dict[str, ModuleType | None] = {
        name: _Later(name)
        for name in ("calendar", "html", "random", "shutil", "tempfile", "urllib.request", "whoosh.lang.porter")
    }
    modules["pkg_resources"] = None
    modules["cached_property"] = _module("cached_property", cached_property)  # the package imports asyncio
    with contextlib.suppress(ImportError):  # some builds of Python have OpenSSL's alone
        from _md5 import md5  # type: ignore[import-not-found]

        modules["hashlib"] = _module("hashlib", md5)  # it loads OpenSSL
    return modules


def _module(name: str, member: Any) -> ModuleType:
    module = ModuleType(name)
    setattr(module, member.__name__, member)
    return module


@contextlib.contextmanager
def light_import() -> Iterator[None]:
    """Let what is imported meanwhile find the stand-ins, if the process has neither the modules themselves nor a second thread that may want them."""
    alone = threading.active_count() == 1
    placed = {name: module for name, module in _stand_ins().items() if alone and name not in sys.modules}
    sys.modules.update(placed)  # type: ignore[arg-type] # None means that there is no such module
    try:
        yield
    finally:
        for name in placed:
            del sys.modules[name]
