"""Guides whose commands are run: the console blocks of a Markdown file, with what stands below each command."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A command of a guide, what the guide says that it prints, and the line at which it stands."""

    command: str
    printed: str
    line: int


def blocks(text: str, language: str = "") -> list[str]:
    """Return the fenced blocks of a guide, those of a language if one is named."""
    return [found[2] for found in _BLOCK.finditer(text) if language in ("", found[1])]


def steps(text: str) -> list[Step]:
    """Return the commands of the console blocks, in order."""
    found = []
    for block in _BLOCK.finditer(text):
        if block[1] != "console":
            continue
        for part in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            line = text.count("\n", 0, text.index(f"$ {command}", block.start())) + 1
            found.append(Step(command, printed, line))
    return found


def written(text: str, outputs: list[str]) -> str:
    """Return the guide with these outputs below its commands."""
    left = iter(outputs)

    def block(found: re.Match[str]) -> str:
        if found[1] != "console":
            return found[0]
        commands = re.findall(r"^\$ .*\n", found[2], re.MULTILINE)
        return "```console\n" + "".join(command + next(left) for command in commands) + "```"

    return _BLOCK.sub(block, text)


def varying(text: str) -> str:
    """Return what a command printed without what differs from run to run and from machine to machine."""
    text = re.sub(r"\d+\.\d s\b", "… s", text)
    return re.sub(r"torch \d[\w.+]* in \w+", "torch … in …", text)
