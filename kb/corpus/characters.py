"""Characters that a terminal, a diff or a code review would not show as they are."""

from __future__ import annotations

import re

__all__ = ["FORBIDDEN"]

FORBIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
"""What no text of an entry needs: controls other than tab and line feed, line separators, changes of the direction of text, and halves of characters."""
