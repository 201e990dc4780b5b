"""The pages about releases of torch: what passed on each, what changed from one to the next, and which of them print a message."""

import re

import pytest

from kb.corpus.ledger import load_ledgers
from tests.entry_factory import EntryFactory
from webapp.snapshot import Snapshot

OLD, NEW = "the width 5 is too wide", "width 5 exceeds 4"


class _Fixed:
    """A source whose snapshot never changes."""

    def __init__(self, snapshot):
        self._snapshot = snapshot

    def current(self):
        return self._snapshot


@pytest.fixture
def client(make_app, tmp_path):
    """A client over one entry, whose message the later of two releases words otherwise."""
    entries = EntryFactory(tmp_path / "entries")
    entries.write(
        "wide", messages=["RuntimeError: width {int} exceeds {int}", "RuntimeError: the width {int} is too wide"]
    )
    for torch, message in (("2.4.1", OLD), ("2.13.0+cpu", NEW)):
        entries.record("wide", torch=torch, printed=f"Traceback (most recent call last):\nRuntimeError: {message}\n")
    snapshot = Snapshot(entries.corpus(), load_ledgers([entries.folder]), lookup=None)
    return make_app(SNAPSHOTS=_Fixed(snapshot)).test_client()


def test_the_overview_counts_and_links_to_what_changed(client):
    page = client.get("/versions").text
    assert page.index(">2.13.0<") < page.index(">2.4.1<")
    assert re.search(r'href="/versions/2\.13\.0">1 since 2\.4\.1<', page)
    assert "/versions/2.4.1" not in page  # nothing came before it


def test_a_release_shows_both_wordings_and_leads_to_the_case(client):
    page = client.get("/versions/2.13.0?lang=zh").text
    assert page.index(OLD) < page.index(NEW)
    assert re.search(r'href="/e/wide\?lang=zh#case-[\w-]+"', page)
    assert client.get("/versions/2.4.1").status_code == client.get("/versions/9.9").status_code == 404


def test_an_entry_marks_the_releases_that_printed_a_message(client):
    page = client.get("/e/wide").text
    table = page[page.index('class="wordings"') :]
    rows = [re.findall("<td>.*?</td>", row) for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)[1:]]
    assert [["✓" in cell for cell in row] for row in rows] == [[False, True], [True, False]]


def test_without_ledgers_the_overview_says_so(make_app, tmp_path):
    entries = EntryFactory(tmp_path / "entries")
    entries.write("wide")
    snapshot = Snapshot(entries.corpus(), load_ledgers([entries.folder]), lookup=None)
    page = make_app(SNAPSHOTS=_Fixed(snapshot)).test_client().get("/versions").text
    assert "No ledger of any release is here yet." in page
