"""Regular expressions that are compiled at their first use, because one look-up needs few of them and compiling takes longer than matching."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["lazy_pattern"]

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "sub")


class _LazyPattern:
    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        for method in _METHODS:  # as attributes, so that only the first call passes here
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that behaves like `re.compile(source, flags)` and is compiled when a method is first called."""
    return _LazyPattern(source, flags)  # type: ignore[return-value] # it has the methods of a pattern
