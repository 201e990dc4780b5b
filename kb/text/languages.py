"""The languages in which kb answers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

__all__ = ["LANGUAGES", "Lang"]

Lang: TypeAlias = "Literal['en', 'zh']"
LANGUAGES: tuple[Lang, ...] = ("en", "zh")
