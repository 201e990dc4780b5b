"""kb.install(warnings=True, logging=True): what a program survives is answered in a few lines, where it is shown."""

import logging
import sys
import warnings

import pytest

import kb
from kb.index.manager import open_index
from kb.integrations import crash_answer, handled_errors

MESSAGE = "Expected more than 1 value per channel when training, got input size torch.Size([1, 512])"
SLUG = "batchnorm-one-value-per-channel"
WARNING = "Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as an argument."


@pytest.fixture(autouse=True)
def _installed(monkeypatch):
    open_index()
    monkeypatch.setattr(crash_answer, "SECONDS", 30)
    monkeypatch.setattr(crash_answer, "_told", set())
    monkeypatch.setattr(handled_errors, "_seen", set())
    showwarning, format_exception = warnings.showwarning, logging.Formatter.formatException
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: sys.stdout.write(f"shown: {message}\n")
        before = warnings.showwarning
        kb.install(warnings=True, logging=True)
        yield
        kb.uninstall()
        assert warnings.showwarning is before
    assert warnings.showwarning is showwarning
    assert logging.Formatter.formatException is format_exception


def logged(error):
    try:
        raise error
    except type(error) as caught:
        record = logging.LogRecord(
            "train", logging.ERROR, "train.py", 1, "step failed", (), (type(caught), caught, caught.__traceback__)
        )
        return logging.Formatter().format(record)  # fmt: skip


def test_a_logged_traceback_is_followed_by_a_short_answer():
    text = logged(ValueError(MESSAGE))
    traceback, _, answer = text.partition("\nkb: ")
    assert traceback.endswith(f"ValueError: {MESSAGE}")
    assert "Pass `drop_last=True`" in answer
    assert answer.endswith(f"kb show {SLUG}")
    assert "kb: " not in logged(ValueError(MESSAGE)), "once"


def test_other_tracebacks_are_logged_as_ever():
    assert "kb: " not in logged(OSError("the pond has frozen over"))


def test_a_warning_is_answered_once_after_it_was_shown(capsys):
    for _ in range(2):
        warnings.warn(WARNING, UserWarning, stacklevel=1)
    shown = capsys.readouterr()
    assert shown.out.count("shown: Implicit dimension") == 2
    assert shown.err.count("kb: ") == 1
    assert shown.err.endswith("kb show implicit-softmax-dim\n")


def test_other_warnings_are_shown_as_ever(capsys):
    warnings.warn("the pond may freeze over", UserWarning, stacklevel=1)
    assert capsys.readouterr() == ("shown: the pond may freeze over\n", "")


def test_a_fault_of_ours_is_silent(monkeypatch, capsys):
    monkeypatch.setattr(handled_errors, "look_up", lambda text: 1 / 0)
    monkeypatch.setattr(handled_errors, "answer_to", lambda error: 1 / 0)
    warnings.warn(WARNING, UserWarning, stacklevel=1)
    assert "kb: " not in logged(ValueError(MESSAGE))
    assert capsys.readouterr().err == ""
