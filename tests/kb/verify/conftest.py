"""The good entry with other programs, and entries with checks."""

import pytest

from tests.entry_factory import MESSAGES, Programs
from tests.kb.verify.made_up import FIX, REPRO


@pytest.fixture
def make_entry(entries):
    """Return (corpus, entry, index) of the good entry with other programs, kind, message, or whatever else `entry_text` takes."""

    def make(repro=REPRO, fix=FIX, kind="error", message=None, attributes="", **fields):
        messages = [message, *MESSAGES[1:]] if message else MESSAGES
        cases = [Programs(attributes=attributes, repro=repro, fix=fix)]
        entries.write(**({"kind": kind, "messages": messages, "cases": cases} | fields))
        corpus = entries.corpus()
        assert corpus.faults == ()
        return corpus, corpus.entries["add-two"], entries.index()

    return make
