"""The change on the reader's own line: each that an entry states is applied to the entry's failing program, which then runs."""

import contextlib
import io
import linecache
import warnings

import pytest

from kb.index.manager import open_index
from kb.integrations import crash_answer
from kb.render.own_line import own_line_change
from kb.search.cause_choice import fitting_cause
from tests.conftest import REPOSITORY

WITH_EDITS = [path.stem for path in sorted(REPOSITORY.glob("entries/*/*.md")) if "\nedits:" in path.read_text("utf-8")]


@pytest.fixture(autouse=True)
def _index(monkeypatch):
    """Import torch for these tests alone: `make quick` collects them as well."""
    global torch  # noqa: PLW0603
    torch = pytest.importorskip("torch")
    open_index()
    monkeypatch.setattr(crash_answer, "SECONDS", 30)


def run(source, path):
    """Run a program; return what it died of, or the warnings that it emitted."""
    path.write_text(source)
    linecache.checkcache(str(path))
    torch.manual_seed(0)
    registry = torch.serialization._package_registry[:]  # programs run one after the other here, and some add to it
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
        except Exception as error:  # noqa: BLE001 - whatever the program raises
            return error.with_traceback(error.__traceback__.tb_next), []
        finally:
            torch.serialization._package_registry[:] = registry
    return None, [warning for warning in caught if warning.filename == str(path)]


def changes_of(source, path):
    """The answer to a failing program, and the change that is shown: where the program can be looked at, and from what it printed."""
    error, emitted = run(source, path)
    if error is not None:
        found = crash_answer.answer_to(error)
    else:
        assert emitted, "the program neither fails nor warns"
        last = emitted[-1]
        text = warnings.formatwarning(last.message, last.category, last.filename, last.lineno)
        found = crash_answer.look_up(text)
    answer, document, text, context = found
    choice = fitting_cause(answer, document, text)
    return answer, own_line_change(answer, document, choice, context), own_line_change(answer, document, choice)


@pytest.mark.torch
@pytest.mark.parametrize("slug", WITH_EDITS)
def test_shown_changes_applied_to_the_failing_programs_make_them_run(corpus, slug, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = corpus.entries[slug]
    assert entry.edits
    for edit in entry.edits:
        _apply(entry, edit, tmp_path)


def _apply(entry, edit, tmp_path):
    case = next(case for case in entry.cases if case.name == edit.case)
    path = tmp_path / "train.py"
    lines = case.repro.source.split("\n")
    answer, in_program, in_paste = changes_of(case.repro.source, path)
    assert answer.matches[0].id == entry.id
    change = in_program or in_paste
    assert change is not None
    assert change.file == str(path)
    assert in_paste is None or [line.strip() for line in in_paste.after] == [line.strip() for line in change.after]
    first = change.line - 1
    own = lines[first : first + len(change.before)]
    assert [line.strip() for line in own] == [line.strip() for line in change.before]
    indent = own[0][: len(own[0]) - len(own[0].lstrip())]
    prefix = indent if not change.before[0].startswith(indent) or not indent else ""
    lines[first : first + len(change.before)] = [prefix + line for line in change.after]
    error, emitted = run("\n".join(lines), path)
    assert error is None or (isinstance(error, AssertionError) and entry.kind == "silent"), error
    assert not [warning for warning in emitted if str(warning.message) in answer.errors[0].message]
