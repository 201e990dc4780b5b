"""Fixtures: the small corpus behind a real server on loopback, and pages in Chromium that fail on any script error."""

from types import SimpleNamespace

import pytest

from tests import small_corpus
from tests.served import served
from webapp import create_app
from webapp.snapshot import SnapshotProvider

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The address of a server with the small corpus."""
    entries = small_corpus.write(tmp_path_factory.mktemp("corpus"))
    misses = str(tmp_path_factory.mktemp("misses") / "misses.sqlite")
    app = create_app(
        {
            "SNAPSHOTS": SnapshotProvider([entries], refresh_seconds=0),
            "RATE": "",
            "RUN": True,
            "RUN_CASE": pretend_to_run,
            "RUN_RATE": "",
            "MISSES": misses,
        }
    )
    with served(app) as address:
        yield address


def pretend_to_run(case, *, backend, cancel, on_output, on_outcome):
    """What the sandbox does, without one: the repro of `quiet-broadcast` goes on until it is cancelled."""
    on_output("repro", "stderr", "RuntimeError: from the sandbox\n")
    if case.entry == "quiet-broadcast":
        cancel.wait(30)
        return
    on_outcome("repro", SimpleNamespace(passed=False, ended="exit", seconds=0.12))
    on_outcome("fix", SimpleNamespace(passed=True, ended="exit", seconds=0.34))


@pytest.fixture(scope="session")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, site):
    """Open an address in a window of its own; at the end of the test no page may have complained or asked for a foreign file."""
    contexts, complaints = [], []

    def open_(path="/", *, width=1280, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            base_url=site,
            **{"locale": "en-US", "reduced_motion": "reduce", **options},
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((site, "data:", "blob:")) else complaints.append(request.url)
            ),
        )
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert [text for text in complaints if "status of 4" not in text] == []


@pytest.fixture
def paste():
    return small_corpus.PASTE
