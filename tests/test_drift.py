"""The nightly run opens one issue for each entry that drifted, and none twice."""

import importlib.util
import json

import pytest

from tests.conftest import REPOSITORY

spec = importlib.util.spec_from_file_location("drift", REPOSITORY / ".github/drift.py")
drift = importlib.util.module_from_spec(spec)
spec.loader.exec_module(drift)

FAILED = '<testcase classname="{0}" name="{0}/a"><failure message="no message matches"/></testcase>'
PASSED = '<testcase classname="fine" name="fine"/>'


def junit(tmp_path, name, *cases):
    path = tmp_path / f"{name}.xml"
    path.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
    return path


@pytest.fixture
def calls():
    made = []

    def call(*arguments):
        made.append(arguments)
        return json.dumps([{"title": "Drift: known"}]) if arguments[1] == "list" else ""

    call.created = lambda: [arguments[3] for arguments in made if arguments[1] == "create"]
    call.made = made
    return call


def test_one_issue_for_each_entry_that_is_not_known(tmp_path, calls):
    runs = [
        junit(tmp_path, "verify-2.4.1", FAILED.format("one"), FAILED.format("known"), PASSED),
        junit(tmp_path, "verify-2.8.0", FAILED.format("one")),
    ]
    assert drift.main(runs, calls) == 0
    assert calls.created() == ["Drift: one"]
    text = calls.made[-1][-1]
    assert "verify-2.4.1" in text
    assert "verify-2.8.0" in text


def test_nothing_drifted_nothing_opened(tmp_path, calls):
    drift.main([junit(tmp_path, "verify", PASSED)], calls)
    assert calls.created() == []


def test_a_run_in_which_nothing_ran_is_an_error(tmp_path, calls):
    with pytest.raises(ValueError, match="no case ran"):
        drift.main([junit(tmp_path, "verify")], calls)
