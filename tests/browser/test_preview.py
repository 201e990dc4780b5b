"""kb preview in Chromium: the open page follows the file by itself, keeps the reader's place, and runs the entry at the press of a key."""

import threading

import pytest

import sandbox
from kb.authoring.live_preview import Preview
from kb.verify.verifier import Environment, Run, Verdict
from tests import small_corpus
from webapp.preview_app import create_preview, make_preview_server

pytestmark = pytest.mark.browser


@pytest.fixture
def previewed(tmp_path, good_entry):
    """A served preview: its address and its file. kb verify answers that the case passed."""
    path = small_corpus.write(tmp_path) / "tensors" / "add-two.md"
    path.parent.mkdir()
    path.write_text(good_entry, "utf-8")

    def verify(corpus, cases, index, **options):
        outcome = sandbox.Outcome("repro", "exit", 1, stderr="RuntimeError: from the sandbox\n", seconds=0.25)
        return Run((Verdict(cases[0], "passed", outcomes={"repro": outcome}),), Environment("2.13.0+cpu", "bubblewrap"))

    preview = Preview(path, [path.parent.parent], verifier=verify)
    serving = make_preview_server(create_preview(preview), "127.0.0.1", 0)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}/", path
    preview.close()
    serving.shutdown()
    thread.join(10)
    serving.server_close()


@pytest.fixture
def page(browser, previewed):
    """The preview in a window; at the end no page may have complained, nor asked for anything elsewhere."""
    address, path = previewed
    complaints = []
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(address) else complaints.append(asked.url))
    page.goto(address)
    page.entry = path
    yield page
    context.close()
    assert complaints == []


def test_the_page_follows_the_file(page):
    text = page.entry.read_text("utf-8")
    assert page.locator(".desk").get_by_text("No fault.").is_visible()
    page.get_by_text("The check and the whole programs").click()
    page.entry.write_text(text.replace("Two tensors cannot be added", "Three tensors cannot be added."), "utf-8")
    page.get_by_role("heading", name="Three tensors cannot be added.").wait_for()
    page.get_by_text("KB033").wait_for()
    assert page.title().startswith("(1) add-two")
    assert page.locator("details.program[open]").count() == 1, "what was open stays open"
    page.entry.write_text("---\n", "utf-8")
    page.get_by_text("front matter is not closed").wait_for()
    page.entry.write_text(text, "utf-8")
    page.get_by_role("heading", name="Two tensors cannot be added").wait_for()


def test_r_runs_the_entry(page):
    page.get_by_text("or press r").wait_for()
    page.keyboard.press("r")
    page.get_by_text("Every case passed.").wait_for()
    page.get_by_text("What the repro printed").click()
    page.get_by_text("RuntimeError: from the sandbox").wait_for()


def test_both_languages_are_a_click_away(page):
    page.get_by_role("link", name="中文").click()
    page.get_by_role("heading", name="两个张量不能相加").wait_for()
    page.get_by_role("button", name="运行其中的程序").click()
    page.get_by_text("所有案例都通过了").wait_for()
    assert page.url.endswith("lang=zh")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_scrolls_sideways_and_axe_finds_nothing(page, width):
    from axe_playwright_python.sync_playwright import Axe

    page.set_viewport_size({"width": width, "height": 900})
    page.entry.write_text(
        page.entry.read_text("utf-8").replace("equal sizes", "`" + "equal_" * 30 + "` sizes"), "utf-8"
    )
    page.get_by_text("KB030").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page)
    assert found.response["violations"] == []
