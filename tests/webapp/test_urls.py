"""Below a path of a host that it shares, behind a proxy that cuts the path or passes it on, every link of the site works."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from werkzeug.test import Client, EnvironBuilder

from tests.proxy import PREFIX, Proxy

PUBLIC = "https://tools.example"


@pytest.fixture(
    params=[
        {"cuts": True, "tells_prefix": False, "url": PUBLIC + PREFIX},
        {"cuts": True, "tells_prefix": True, "url": PUBLIC + PREFIX},
        {"cuts": False, "tells_prefix": False, "url": PUBLIC + PREFIX + "/"},
        {"cuts": True, "tells_prefix": True, "url": ""},
        {"cuts": False, "tells_prefix": True, "url": ""},
    ],
    ids=["cut", "cut-and-told", "whole", "told-alone", "whole-and-told"],
)
def browser(request, make_app, tmp_path):
    """A client of the proxy."""
    app = make_app(URL=request.param["url"], PROXIES=1, MISSES=str(tmp_path / "misses.sqlite"))
    return Client(Proxy(app, cuts=request.param["cuts"], tells_prefix=request.param["tells_prefix"]))


def get(browser, path, **options):
    assert path.startswith(f"{PREFIX}/"), path
    return browser.open(EnvironBuilder(path, PUBLIC, **options).get_environ())


class Links(HTMLParser):
    """The addresses in a page."""

    def __init__(self, page):
        super().__init__()
        self.addresses = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src", "action", "formaction") and not value.startswith("#"):
                self.addresses.append(value)


def own_links(page):
    """The addresses in a page that lead to this host, without the host."""
    addresses = [address.removeprefix(PUBLIC) for address in Links(page).addresses]
    return [address for address in addresses if not address.startswith("https://")]


@pytest.mark.slow
@pytest.mark.parametrize("start", ["/kb/", "/kb/e/linear-width-mismatch", "/kb/browse", "/kb/t/shapes", "/kb/e/nix"])
def test_every_link_of_a_page_leads_below_the_path_and_is_answered(browser, start):
    links = own_links(get(browser, start).text)
    assert len(links) > 5
    for address in links:
        assert address.startswith("/kb/"), address
        status = get(browser, address.partition("#")[0]).status_code
        assert status == 200 or address == "/kb/helped"
        assert status in (200, 405)


def test_the_path_without_its_slash_is_the_start_page(browser):
    response = browser.open(EnvironBuilder(PREFIX, PUBLIC).get_environ(), follow_redirects=True)
    assert "What does PyTorch say?" in response.text


def test_a_paste_is_answered_and_a_former_slug_redirects(browser, paste):
    page = get(browser, "/kb/", method="POST", data={"text": paste})
    assert "A layer gets inputs of the wrong width" in page.text
    assert all(address.startswith("/kb/") for address in own_links(page.text))
    moved = get(browser, "/kb/e/old-linear-slug?lang=zh")
    assert (moved.status_code, moved.location) == (301, "/kb/e/linear-width-mismatch?lang=zh")


def test_a_form_of_this_site_is_taken_and_redirects_below_the_path(browser):
    form = {"entry": "quiet-broadcast", "helped": "yes"}
    thanked = get(browser, "/kb/helped", method="POST", data=form, headers={"Origin": PUBLIC})
    assert (thanked.status_code, thanked.location) == (303, "/kb/e/quiet-broadcast#thanks")
    assert (
        get(browser, "/kb/helped", method="POST", data=form, headers={"Origin": "https://x.example"}).status_code == 403
    )


def test_feed_sitemap_and_lists_name_the_public_address(browser):
    for path in ("/kb/feed.xml", "/kb/sitemap.xml"):
        addresses = re.findall(r"https?://[^\s<\"]+", re.sub(r'xmlns(:\w+)?="[^"]*"', "", get(browser, path).text))
        assert addresses
        for address in addresses:
            assert address.startswith(f"{PUBLIC}/kb/"), address
            assert get(browser, address.removeprefix(PUBLIC)).status_code == 200
    ET.fromstring(get(browser, "/kb/sitemap.xml").data)
    assert "(https://tools.example/kb/e/quiet-broadcast.md)" in get(browser, "/kb/llms.txt").text
    assert "Disallow: /kb/api/\nSitemap: https://tools.example/kb/sitemap.xml" in get(browser, "/kb/robots.txt").text


def test_the_api_names_addresses_below_the_path(browser, paste):
    answer = get(browser, "/kb/api/v1/lookup", method="POST", json={"text": paste}).json
    assert answer["matches"][0]["url"] == "/kb/e/linear-width-mismatch"
    assert get(browser, "/kb/api/v1/openapi.json").json["servers"] == [{"url": "/kb"}]
    missing = get(browser, "/kb/api/v1/entries/nix")
    assert missing.mimetype == "application/problem+json"
    assert "/kb/api/v1/entries lists them" in missing.json["detail"]


def test_the_server_itself_still_answers_without_the_path(make_app):
    client = make_app(URL=PUBLIC + PREFIX).test_client()
    assert client.get("/healthz").status_code == 200
    assert client.get("/kb/healthz").status_code == 200


@pytest.mark.parametrize(
    "prefix", ["//evil.example", "/a//b", "/<script>", "https://evil.example", "/a?b", "/\\evil.example"]
)
def test_a_forged_prefix_never_gets_into_a_page(make_app, prefix):
    page = make_app(PROXIES=1).test_client().get("/browse", headers={"X-Forwarded-Prefix": prefix}).text
    assert prefix not in page
    assert 'href="/browse"' in page


def test_a_prefix_is_believed_of_trusted_proxies_only_and_the_operators_word_comes_first(make_app):
    headers = {"X-Forwarded-Prefix": "/elsewhere"}
    assert "/elsewhere" in make_app(PROXIES=1).test_client().get("/browse", headers=headers).text
    assert "/elsewhere" not in make_app().test_client().get("/browse", headers=headers).text
    assert "/elsewhere" not in make_app(PROXIES=1, URL=PUBLIC).test_client().get("/browse", headers=headers).text
    assert 'href="/kb/browse"' in make_app(PROXIES=1, URL=PUBLIC + PREFIX).test_client().get("/", headers=headers).text
