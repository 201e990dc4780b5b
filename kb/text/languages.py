"""The languages in which kb answers."""

from __future__ import annotations

from typing import Literal

__all__ = ["LANGUAGES", "Lang"]

Lang = Literal["en", "zh"]
LANGUAGES: tuple[Lang, ...] = ("en", "zh")
