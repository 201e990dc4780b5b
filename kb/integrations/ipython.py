"""`%load_ext kb`: the answer under the traceback of a cell, as HTML in Jupyter and as text in IPython's terminal.

It listens to IPython's own event after each cell and changes nothing else. A fault of kb's is silent.
"""

from __future__ import annotations

import sys
from typing import Any

from kb.integrations.crash_answer import ERROR_ROWS, answer_to

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_watching: dict[int, _Watch] = {}


class _Watch:
    """What one shell's cells died of. `%run` shows its error by itself, so the last one shown counts as well."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.before = _last_shown()

    def pre_run_cell(self, _info: Any) -> None:
        self.before = _last_shown()

    def post_run_cell(self, result: Any) -> None:
        try:
            error = result.error_in_exec or result.error_before_exec
            shown = _last_shown()
            if error is None and shown != self.before:
                error = getattr(sys, "last_value", None)
            if isinstance(error, Exception):
                _show(self.shell, error)
        except BaseException:  # noqa: BLE001, S110 - an error in a cell is never made worse
            pass


def load_ipython_extension(shell: Any) -> None:
    """Answer the errors of this shell's cells from now on."""
    if id(shell) not in _watching:
        watch = _watching[id(shell)] = _Watch(shell)
        shell.events.register("pre_run_cell", watch.pre_run_cell)
        shell.events.register("post_run_cell", watch.post_run_cell)


def unload_ipython_extension(shell: Any) -> None:
    """Answer no more."""
    if watch := _watching.pop(id(shell), None):
        shell.events.unregister("pre_run_cell", watch.pre_run_cell)
        shell.events.unregister("post_run_cell", watch.post_run_cell)


def _last_shown() -> int:
    """Tell the error that IPython showed last from others, without keeping it alive."""
    return id(getattr(sys, "last_value", None))


def _show(shell: Any, error: Exception) -> None:
    found = answer_to(error)
    if found is None:
        return
    answer, document, text, context = found
    if document is None:
        return
    from kb.render.answer_text import answer_lines
    from kb.render.terminal import Style, size

    if not hasattr(shell, "kernel"):
        limit, rows = size()
        room = None if rows is None else max(16, rows - ERROR_ROWS)
        lines = answer_lines(answer, document, text, limit, room, Style(), context=context, lead="kb: ", evidence=False)
        print("\n".join(lines))  # noqa: T201 - the terminal is where the answer belongs
        return
    from kb.render.answer_html import answer_html

    plain = answer_lines(
        answer, document, text, 88, None, Style(plain=True), context=context, lead="kb: ", evidence=False
    )
    shell.display_pub.publish(
        {"text/plain": "\n".join(plain), "text/html": answer_html(answer, document, text, context)}
    )
