"""Text from the sandbox on its way to a terminal or a log."""

from __future__ import annotations

import re

# ECMA-48: control sequences, operating system commands and other strings, two-character escapes; then lone controls
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# what runners take for commands: "::" that begins a line, "##[" and "##vso[" anywhere
_COMMANDS = re.compile(r"^(?P<indent>[^\S\n]*):(?=:)|#(?=#(?:vso)?\[)", re.MULTILINE)


def printable(text: str) -> str:
    """Return text without terminal control sequences and with CI commands (`::error::`, `##[`) made harmless.

    A carriage return overwrites a line on a terminal, so it becomes a line's end. Text direction overrides are removed as well.
    """
    text = _SEQUENCES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROLS.sub("", text)
    return _COMMANDS.sub("\\g<0>\u200b", text)
