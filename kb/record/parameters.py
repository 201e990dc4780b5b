"""What a recorded signature says of the arguments that a callable takes."""

from __future__ import annotations

from functools import lru_cache

from kb.startup.named_tuple import NamedTuple

__all__ = ["Signature", "parse_signature"]


class Signature(NamedTuple):
    """The parameters of a callable over all its overloads.

    `names` are those that a keyword can name. `positional` is the largest number of positional arguments, None where there is no limit.
    """

    names: tuple[str, ...]
    required: tuple[str, ...]
    positional: int | None
    takes_any_keyword: bool


@lru_cache(maxsize=2048)
def parse_signature(text: str) -> Signature:
    """Return the parameters that a recorded signature stands for."""
    names: dict[str, None] = {}
    required: dict[str, None] = {}
    limits: list[int | None] = []
    takes_any = False
    for overload in text.split("|"):
        positional, limit, keyword_only = 0, None, False
        parts = [] if overload == "()" else overload.split(",")
        for part in parts:
            if part.startswith("**"):
                takes_any = True
            elif part.startswith("*"):
                keyword_only, limit = True, positional if part == "*" else -1
            elif part == "+":
                takes_any = True
            elif part not in ("/", ""):
                names[part.rstrip("=")] = None
                if not part.endswith("="):
                    required[part] = None
                positional += not keyword_only
        limits.append(positional if limit is None else limit)
    unlimited = any(limit is not None and limit < 0 for limit in limits)
    return Signature(
        tuple(names), tuple(required), None if unlimited else max(filter(None, limits), default=0), takes_any
    )
