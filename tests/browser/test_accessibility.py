"""axe finds nothing to complain about: every kind of page, both languages, light and dark, wide and narrow."""

import pytest

pytestmark = pytest.mark.browser

PATHS = [
    "/",
    "/e/linear-width-mismatch",
    "/e/quiet-broadcast",
    "/e/training-stands-still",
    "/browse",
    "/kind/symptom",
    "/t/shapes",
    "/tag/shapes",
    "/e/nix",
]


@pytest.fixture(scope="session")
def axe():
    from axe_playwright_python.sync_playwright import Axe

    return Axe()


def violations(axe, page):
    return [(found["id"], [node["html"] for node in found["nodes"]]) for found in axe.run(page).response["violations"]]


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize(("locale", "width"), [("en-US", 1280), ("zh-CN", 320)])
@pytest.mark.parametrize("path", PATHS)
def test_pages(open_page, axe, path, locale, width, colours):
    page = open_page(path, width=width, locale=locale, color_scheme=colours)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert violations(axe, page) == []


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("text", ["", "ZeppelinError: no quux left in shapes of the first layer"])
def test_answers(open_page, axe, paste, text, colours):
    page = open_page(color_scheme=colours, locale="zh-CN")
    page.fill("#text", text or paste)
    page.keyboard.press("Control+Enter")
    page.locator("#answer .found").wait_for()
    assert violations(axe, page) == []
