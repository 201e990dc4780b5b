"""What `pytest --kb` does at a failure.

Where the failure happens the answer is looked up, because only there is the exception. It travels with the report, also from a worker of pytest-xdist.
Where reports are printed it is shown, once for each entry.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from kb.integrations.crash_answer import answer_to
from kb.render.answer_text import answer_lines
from kb.render.context_text import entry_mismatch
from kb.render.strings import STRINGS
from kb.render.terminal import Style, size, wrap

__all__ = ["make_plugin"]

_KEY = "_kb_answer"
_ROWS = 32
"""Lines of an answer."""


class _Lookup:
    """Looks up what tests die of, and keeps the answer in their reports."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
        report = yield
        if report.failed and call.excinfo is not None:
            _answer(report, call.excinfo.value)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, Any, Any]:
        report = yield
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            _answer(report, call.excinfo.value.__cause__ or call.excinfo.value)
        return report


class _Sections(_Lookup):
    """Shows the answers as well: the whole of it under the first failure of a cause, and where that is under the others."""

    def __init__(self) -> None:
        self.first: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        self._show(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: Any) -> None:
        self._show(report)

    def _show(self, report: Any) -> None:
        kept = getattr(report, _KEY, None)
        if kept is None:
            return
        slug, lang, whole, own = kept
        first = self.first.setdefault(slug, report.nodeid)
        text = whole if first == report.nodeid else "\n".join([*own, STRINGS[lang]["same"].format(first, slug)])
        if hasattr(report.longrepr, "addsection"):
            report.longrepr.addsection("kb", text, "-")
        else:
            report.sections.append(("kb", text))


def make_plugin(*, is_worker: bool) -> object:
    """Return the plugin for a process that prints reports, or for a worker that sends them to such a process."""
    return _Lookup() if is_worker else _Sections()


def _answer(report: Any, error: BaseException) -> None:
    """Keep the answer to the error in the report: the entry, the language, the text, and what it says of this failure alone."""
    try:
        crash = answer_to(error) if isinstance(error, Exception) else None
        if crash is None:
            return
        answer, document, text, context = crash
        if document is None:
            return
        width, _ = size()
        lines = answer_lines(answer, document, text, width, _ROWS, Style(plain=True), context=context, evidence=False)
        mismatch = entry_mismatch(document, context)
        own = list(wrap(mismatch.sentence[answer.lang], width)) if mismatch else []
        setattr(report, _KEY, [document["id"], answer.lang, "\n".join(lines), own])
    except Exception:  # noqa: BLE001, S110 - a failure is never made worse
        pass
