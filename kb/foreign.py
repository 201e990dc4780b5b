"""What a paste tells of frameworks, libraries and tools other than PyTorch: what they say is not kb's to answer."""

from __future__ import annotations

import re
from functools import cache

from kb.lazy import pattern

__all__ = ["FRAMEWORKS", "OTHERS", "names", "of_framework", "of_others", "raised_elsewhere"]

FRAMEWORKS, OTHERS = "frameworks", "others"
"""The lists of names in `kb/data`."""

_OF_PYTORCH = pattern(
    r"torch|\bATen\b|\bc10\b|\bnn\.|\.cuda\(|\.to\(|\.backward\(|requires_grad|state_dict|data_?loader", re.IGNORECASE
)
"""What shows anywhere in a text that it is about PyTorch: its name, even inside another, or what only its code has."""

_NAME = pattern(r"[A-Za-z][A-Za-z0-9]*")
_COMPARED = pattern(
    r"(?:\b(?:like|unlike|as|than|to|of|from|instead)\b(?:\W+\w+)?\W{1,3}|[像如似于比照])$", re.IGNORECASE
)
"""What stands before the name of a framework that PyTorch is only compared with: `like Keras`, `as in tf`, `类似 Keras`."""

_INSTALLED = ("-packages/", "-packages\\")


def of_framework(text: str) -> bool:
    """Tell whether the text names another framework, other than to compare, and nothing of PyTorch."""
    if _OF_PYTORCH.search(text):
        return False
    found = [name for name in _NAME.finditer(text) if name.group().lower() in names(FRAMEWORKS)]
    return bool(found) and not any(_COMPARED.search(text[max(0, name.start() - 40) : name.start()]) for name in found)


def of_others(text: str) -> bool:
    """Tell whether the text names another framework, library or tool, and nothing of PyTorch."""
    if _OF_PYTORCH.search(text):
        return False
    known = names(FRAMEWORKS) | names(OTHERS)
    return any(name.lower() in known for name in _NAME.findall(text))


def raised_elsewhere(text: str, end: int) -> bool:
    """Tell whether the last frame before `end` is in the installed code of another framework."""
    at = max(text.rfind(folder, 0, end) for folder in _INSTALLED)
    package = _NAME.match(text, at + len(_INSTALLED[0])) if at >= 0 else None
    if package is None or 'File "' in text[at:end]:
        return False
    return package.group().lower() in names(FRAMEWORKS)


@cache
def names(file: str) -> frozenset[str]:
    """Return the names of one of the two lists, in lower case."""
    from pathlib import Path  # a look-up that needs no names does without

    lines = (Path(__file__).parent / f"data/{file}.txt").read_text("utf-8").splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())
