"""The site below a path of a host that it shares, in Chromium: nothing that a page needs is sought beside it."""

import pytest

from tests import small_corpus
from tests.browser.conftest import pretend_to_run
from tests.proxy import PREFIX, Proxy
from tests.served import served
from webapp import create_app

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def below_a_path(tmp_path_factory):
    """The address of the site behind a proxy that cuts the path off."""
    folder = tmp_path_factory.mktemp("below")
    app = create_app(
        {
            "FOLDERS": [small_corpus.write(folder)],
            "URL": f"https://tools.example{PREFIX}",
            "PROXIES": 1,
            "RATE": "",
            "RUN": True,
            "RUN_RATE": "",
            "RUN_CASE": pretend_to_run,
            "MISSES": str(folder / "misses.sqlite"),
        }
    )
    with served(Proxy(app, cuts=True, tells_prefix=False)) as address:
        yield f"{address}{PREFIX}"


@pytest.fixture
def page(browser, below_a_path):
    """A window; at the end no address beside the path may have been asked for, and no request may have failed."""
    asked, failed = [], []
    context = browser.new_context(locale="en-US", reduced_motion="reduce")
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
    page.goto(f"{below_a_path}/")
    yield page
    context.close()
    assert [address for address in asked if not address.startswith(f"{below_a_path}/")] == []
    assert failed == []


def test_a_reader_gets_from_the_paste_to_the_entry_and_runs_it(page, below_a_path, paste):
    assert page.evaluate("getComputedStyle(document.querySelector('.primary')).cursor") == "pointer", "styles are there"
    page.fill("#text", paste)
    page.keyboard.press("Control+Enter")
    page.locator("#answer article").wait_for()
    page.click("text=中文")
    page.wait_for_url(f"{below_a_path}/?lang=zh")
    page.locator("#answer h2", has_text="层的输入宽度不对").wait_for()
    page.click(".permalink a")
    page.wait_for_url(f"{below_a_path}/e/linear-width-mismatch?lang=zh")
    page.locator("form.run button:visible").first.click()
    page.locator("figure[data-role=fix] .way", has_text="0.34").wait_for()
    page.click(".helped button[value=yes]")
    page.locator(".helped [role=status]", has_text="谢谢").wait_for()
    page.click(".brand")
    page.wait_for_url(f"{below_a_path}/?lang=zh")


def test_browsing_and_switching_the_language_stay_below_the_path(page, below_a_path):
    page.click(".top nav >> text=Browse")
    page.wait_for_url(f"{below_a_path}/browse")
    page.click("text=中文")
    page.wait_for_url(f"{below_a_path}/browse?lang=zh")
    page.click(".topic .entries a >> nth=0")
    page.locator("article.entry").wait_for()
