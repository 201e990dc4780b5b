"""Pasted text: every text is answered, and what an answer points to is in the text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

from bench.fuzz.mutation import TEXT, mutate
from kb.corpus.loader import load
from kb.index.manager import open_index
from kb.index.reader import Index
from kb.search.lookup import lookup

__all__ = ["Paste"]

_TOKENS = [
    *(
        "Traceback (most recent call last):\n",
        '  File "a.py", line 3, in f\n',
        "RuntimeError: ",
        "UserWarning: ",
        "[rank0]: ",
        "During handling",
    ),
    *(
        "Original Traceback",
        "torch.Size([1, 2])",
        "(((",
        "cuda:0",
        "20.00 MiB",
        "0x7f",
        "&lt;",
        "| ",
        "> ",
        "----> ",
        "显存",
        "張量",
        "ﬁ",
    ),
]


class Paste:
    """Tracebacks with the messages of the entries that ship, changed at random, looked up in the index of those entries."""

    name = "paste"

    def make(self, random: Random) -> bytes:
        """Return a traceback that was changed."""
        _index()  # is built here, where the time is not counted
        message = random.choice(_messages())
        text = f'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g(x)\n{message}\n'
        return mutate(text.encode(), _TOKENS + TEXT, random)

    def check(self, data: bytes, folder: Path) -> None:  # noqa: ARG002 - it reads no files
        """Look the text up."""
        text = data.decode("utf-8", "replace")
        answer = lookup(text, index=_index())
        lines = text.count("\n") + 1
        for match in answer.matches:
            assert match.evidence.line_number <= lines, "evidence outside the paste"
            assert 0 <= match.score <= 1


@cache
def _index() -> Index:
    return open_index()


@cache
def _messages() -> list[str]:
    return [message.text for entry in load() for message in entry.messages]
