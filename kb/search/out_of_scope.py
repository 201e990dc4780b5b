"""Recognise pastes about other frameworks, which kb does not answer."""

from __future__ import annotations

import re

from kb.startup.lazy_regex import lazy_pattern
from kb.text.software import WORD, frameworks, names_pytorch

__all__ = ["names_other_framework", "raised_elsewhere"]

_COMPARED = lazy_pattern(
    r"(?:\b(?:like|unlike|as|than|to|of|from|instead)\b(?:\W{1,40}\w{1,40})?\W{1,3}|[像如似于比照])$", re.IGNORECASE
)
"""Words before the name of a framework with which PyTorch is only compared: `like Keras`, `as in tf`, `类似 Keras`."""

_INSTALLED = ("-packages/", "-packages\\")


def names_other_framework(text: str) -> bool:
    """Whether the text names another framework, not only for comparison, and nothing of PyTorch."""
    if names_pytorch(text):
        return False
    named = [word for word in WORD.finditer(text) if word.group().lower() in frameworks()]
    is_comparison = any(_COMPARED.search(text[max(0, word.start() - 40) : word.start()]) for word in named)
    return bool(named) and not is_comparison


def raised_elsewhere(text: str, end: int) -> bool:
    """Whether the last frame before `end` is in the installed code of another framework."""
    position = max(text.rfind(folder, 0, end) for folder in _INSTALLED)
    package = WORD.match(text, position + len(_INSTALLED[0])) if position >= 0 else None
    if package is None or 'File "' in text[position:end]:
        return False
    return package.group().lower() in frameworks()
