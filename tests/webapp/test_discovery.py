"""An error's words typed into a web search lead here: titles, links between languages, sitemap, feed, and Markdown for assistants."""

import json
import re
import xml.etree.ElementTree as ET

import pytest

SLUG = "linear-width-mismatch"
NAMES = {
    "s": "http://www.sitemaps.org/schemas/sitemap/0.9",
    "x": "http://www.w3.org/1999/xhtml",
    "a": "http://www.w3.org/2005/Atom",
}


@pytest.fixture
def public(make_app):
    return make_app(URL="https://kb.example.org/").test_client()


def test_the_title_of_an_entry_is_the_message(client):
    assert (
        "<title>RuntimeError: mat1 and mat2 shapes cannot be multiplied (… and …) · kb</title>"
        in client.get(f"/e/{SLUG}").text
    )
    assert "<title>A loss broadcasts without a word · kb</title>" in client.get("/e/quiet-broadcast").text


def test_links_between_the_languages_and_to_the_canonical_page(public):
    page = public.get(f"/e/{SLUG}").text
    assert f'<link rel="canonical" href="https://kb.example.org/e/{SLUG}?lang=en">' in page
    found = dict(re.findall(r'<link rel="alternate" hreflang="([^"]+)" href="([^"]+)">', page))
    assert found == {
        "en": f"https://kb.example.org/e/{SLUG}?lang=en",
        "zh-Hans": f"https://kb.example.org/e/{SLUG}?lang=zh",
        "x-default": f"https://kb.example.org/e/{SLUG}?lang=en",
    }
    assert (
        f'<link rel="canonical" href="https://kb.example.org/e/{SLUG}?lang=zh">'
        in public.get(f"/e/{SLUG}?lang=zh").text
    )


def test_a_forged_host_never_gets_into_a_page(client):
    page = client.get(f"/e/{SLUG}", headers={"Host": "evil.example"}).text
    assert "evil.example" not in page


def test_structured_data_and_open_graph(public):
    page = public.get(f"/e/{SLUG}?lang=zh").text
    data = json.loads(re.search(r'<script type="application/ld\+json">(.*?)</script>', page).group(1))
    assert data["@type"] == "TechArticle"
    assert data["inLanguage"] == "zh-Hans"
    assert data["dateModified"] == "2026-11-20"
    assert data["url"] == f"https://kb.example.org/e/{SLUG}?lang=zh"
    assert '<meta property="og:title" content="RuntimeError: mat1' in page
    assert 'content="zh_CN"' in page


def test_structured_data_cannot_end_its_script(public):
    raw = re.search(r'<script type="application/ld\+json">(.*?)</script>', public.get(f"/e/{SLUG}").text).group(1)
    assert "<" not in raw


def test_sitemap_lists_every_entry_in_both_languages(public):
    tree = ET.fromstring(public.get("/sitemap.xml").data)
    places = {element.text for element in tree.findall("s:url/s:loc", NAMES)}
    for slug in (SLUG, "quiet-broadcast", "loader-seed-warning"):
        for lang in ("en", "zh"):
            assert f"https://kb.example.org/e/{slug}?lang={lang}" in places
    assert len(tree.findall("s:url/x:link", NAMES)) == 2 * len(places)
    assert "Sitemap: https://kb.example.org/sitemap.xml" in public.get("/robots.txt").text


@pytest.mark.parametrize(
    ("lang", "title"), [("en", "A layer gets inputs of the wrong width"), ("zh", "层的输入宽度不对")]
)
def test_feed_has_what_was_proven_with_its_day(public, lang, title):
    tree = ET.fromstring(public.get(f"/feed.xml?lang={lang}").data)
    entries = tree.findall("a:entry", NAMES)
    assert [entry.findtext("a:title", namespaces=NAMES) for entry in entries] == [title]
    assert entries[0].findtext("a:updated", namespaces=NAMES) == "2026-11-20T00:00:00Z"
    assert entries[0].findtext("a:id", namespaces=NAMES) == f"https://kb.example.org/e/{SLUG}"


def test_an_entry_is_there_as_its_own_markdown(client, entries):
    answer = client.get(f"/e/{SLUG}.md")
    assert answer.mimetype == "text/markdown"
    assert answer.text == (entries / "shapes" / f"{SLUG}.md").read_text("utf-8")
    assert client.get("/e/nix.md").status_code == 404


def test_llms_lists_every_entry(public):
    text = public.get("/llms.txt").text
    for slug in (SLUG, "quiet-broadcast", "loader-seed-warning"):
        assert f"(https://kb.example.org/e/{slug}.md)" in text
