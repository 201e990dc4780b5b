"""The answer under the traceback of a program that dies: `kb.install()` sets it up through sys.excepthook and threading.excepthook.

A crash is never made worse: whatever fails here fails in silence, the look-up is given up after a second, and until something dies nothing but
this module is loaded. The index is only opened, never built: that takes longer than a dying program should wait.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kb.answer import Answer

    Found = tuple[Answer, dict[str, Any] | None, str]
    """The answer to an error, the card of its first match (None where there is no answer), and the traceback that was asked."""

__all__ = ["answer_to", "explain", "install", "uninstall"]

SECONDS = 1.0
"""How long a look-up may hold up a program that dies."""
ERROR_ROWS = 8
"""Rows of a terminal that stay free for the end of the traceback and the prompt."""
_FRAMES = -60
"""The innermost frames of a traceback that are looked at."""
_LONGEST = 16_384
"""Characters of each part of a traceback that are looked at, and four times as many in all: a message may list a thousand tensors."""

_on = False
_before: dict[Callable[..., Any], Callable[..., Any]] = {}
_told: set[str] = set()
_speaks = allocate_lock()


def install(*, main_thread: bool = True) -> None:
    """Print kb's answer under the traceback of every uncaught exception, after what was installed before has had its turn.

    Without `main_thread` only those of other threads are answered.
    """
    global _on  # noqa: PLW0603 - one process has one excepthook
    import threading

    _on = True
    if main_thread and sys.excepthook not in _before:
        sys.excepthook = _after(sys.excepthook, lambda _type, error, _traceback: error)
    if threading.excepthook not in _before:
        threading.excepthook = _after(threading.excepthook, lambda args: args.exc_value)


def uninstall() -> None:
    """Take the hooks away again; where others were put around them they stay, and do nothing."""
    global _on  # noqa: PLW0603
    import threading

    _on = False
    sys.excepthook = _before.pop(sys.excepthook, sys.excepthook)
    threading.excepthook = _before.pop(threading.excepthook, threading.excepthook)


def explain(error: object, *, said: bool = False) -> None:
    """Print the answer to an uncaught exception on standard error, once for each entry; print nothing where there is none, unless it is to be `said`."""
    try:
        if not isinstance(error, Exception) or getattr(error, "_kb_explained", False) or sys.stderr is None:
            return
        error._kb_explained = True  # type: ignore[attr-defined]  # noqa: SLF001 - an exception may pass more than one hook
        found = answer_to(error)
        if _speaks.acquire(timeout=SECONDS):
            try:
                _print(found, said)
            finally:
                _speaks.release()
    except BaseException:  # noqa: BLE001, S110 - a crash is never made worse
        pass


def answer_to(error: BaseException) -> Found | None:
    """Return the answer to an exception with its traceback, or None where the index or the time is missing."""
    import threading

    text = _as_printed(error)
    found: list[Found] = []
    thread = threading.Thread(target=_look_up, args=(text, found), name="kb", daemon=True)
    thread.start()
    thread.join(SECONDS)
    return found[0] if found else None


def _after(previous: Callable[..., Any], error_of: Callable[..., object]) -> Callable[..., Any]:
    """Return a hook that calls the previous one and then explains the error."""

    def hook(*args: Any) -> None:
        try:
            previous(*args)
        finally:
            if _on:
                explain(error_of(*args))

    _before[hook] = previous
    return hook


def _as_printed(error: BaseException) -> str:
    import traceback

    parts = traceback.format_exception(type(error), error, error.__traceback__, limit=_FRAMES)
    return "".join(part[:_LONGEST] for part in parts)[-4 * _LONGEST :]


def _look_up(text: str, found: list[Found]) -> None:
    try:
        from kb.answer import lookup
        from kb.index import opened_index
        from kb.terminal import language

        index = opened_index()
        if index is None:
            return
        answer = lookup(text, lang=language(), limit=3, index=index)  # type: ignore[arg-type]
        fits = answer.answered and (answer.matches[0].confidence == "exact" or _through_torch(text))
        card = index.card(answer.matches[0].id) if fits else None
        found.append((answer, card, text))
    except BaseException:  # noqa: BLE001, S110 - a crash is never made worse
        pass


def _through_torch(text: str) -> bool:
    """Tell whether the traceback passes torch or speaks of it: an error from elsewhere that only sounds alike is not ours to explain."""
    for line in text.split("\n"):
        frame = line.lstrip().startswith('File "')
        if ("/torch/" in line.replace("\\", "/")) if frame else ("torch" in line):
            return True
    return False


def _print(found: Found | None, said: bool) -> None:
    from kb.terminal import DIM, Style, size

    style = Style(sys.stderr)
    limit, rows = size(sys.stderr)
    lines: list[str] = []
    if found is None:
        if said:
            lines = [style("kb: no answer, its index is missing or broken; kb index builds it", DIM)]
    else:
        answer, card, text = found
        if card is None:
            lines = [style("kb has no entry for this error", DIM)] if said else []
        elif card["id"] not in _told:
            from kb.answer_text import answer_lines, short_lines

            _told.add(card["id"])
            room = None if rows is None else max(16, rows - ERROR_ROWS)
            if os.environ.get("RANK", "0") == "0":
                lines = ["", *answer_lines(answer, card, text, limit, room, style, lead="kb: ", evidence=False)]
            else:  # every process of a distributed run dies, and mostly of the same
                lines = ["", *short_lines(answer, limit, style, lead="kb: ")]
    if lines:
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()
