"""The kinds of entries."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

__all__ = ["KINDS", "Kind"]

Kind: TypeAlias = "Literal['error', 'warning', 'silent', 'symptom']"
KINDS: tuple[Kind, ...] = ("error", "warning", "silent", "symptom")
