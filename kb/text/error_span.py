"""The type that all readers of errors share."""

from __future__ import annotations

from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

__all__ = ["ErrorSpan", "Role"]

Role: TypeAlias = "Literal['error', 'warning', 'wrapper', 'heading']"
"""`wrapper`: the message only reports another error. `heading`: a notebook's heading, whose message stands below the traceback."""


class ErrorSpan(NamedTuple):
    """An error in normalized text: its type and message as printed, their offsets, and the error's role.

    `type` is the name of the exception. For a line that a program prints without one, it is the kind of message
    (`Killed`, `exit code`, `CUDA error`), and it is empty for a message whose exception another program dropped.
    """

    type: str
    message: str
    start: int
    message_start: int
    role: Role
