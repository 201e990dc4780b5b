"""Regular expressions that are compiled when they are first used: a look-up needs few of them, and compiling all costs more than the rest."""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["pattern"]


class _Lazy:
    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        for method in ("match", "search", "fullmatch", "finditer", "findall", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that behaves like `re.compile(source, flags)` and is compiled at the first call of a method."""
    return cast("re.Pattern[str]", _Lazy(source, flags))
