"""Protection on every answer, and what a browser may keep."""

import gzip
import re

import pytest

PATHS = ["/", "/e/linear-width-mismatch", "/browse", "/nix", "/api/v1/entries", "/api/v1/nix", "/healthz"]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_protected(client, path):
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "*" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Set-Cookie" not in headers


@pytest.mark.parametrize("path", ["/", "/e/linear-width-mismatch", "/browse", "/nix"])
def test_no_page_has_inline_script_or_style_or_a_foreign_file(client, path):
    page = client.get(path).text
    assert not re.search(r"<style|\sstyle=|\son\w+=", page)
    assert not re.search(r"<script(?![^>]*(src=|type=.application/ld\+json))", page)
    assert not re.search(r'(src=|<link rel="stylesheet" href=)"https?:', page)


def test_an_answer_to_a_paste_is_not_kept_by_anyone(client, paste):
    headers = client.post("/", data={"text": paste}).headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Robots-Tag"] == "noindex"


def test_an_entry_is_asked_for_again_with_its_etag(client):
    first = client.get("/e/linear-width-mismatch")
    again = client.get("/e/linear-width-mismatch", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
    assert not again.data
    chinese = client.get("/e/linear-width-mismatch?lang=zh", headers={"If-None-Match": first.headers["ETag"]})
    assert chinese.status_code == 200


def test_pages_and_static_files_are_packed_for_those_who_can_unpack(client):
    for address in ("/browse", *re.findall(r'(?:src|href)="(/static/[^"]+)"', client.get("/").text)):
        plain, packed = client.get(address), client.get(address, headers={"Accept-Encoding": "br, gzip"})
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in packed.headers["Vary"]
        assert gzip.decompress(packed.data) == plain.data
        assert plain.headers["ETag"] != packed.headers["ETag"]
        assert plain.headers["Content-Type"] == packed.headers["Content-Type"]


def test_static_files_are_kept_for_ever_under_the_hash_of_their_content(client):
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', client.get("/").text):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["Cache-Control"]
        outdated = client.get(re.sub(r"/static/\w+/", "/static/0000/", address))
        assert "immutable" not in outdated.headers["Cache-Control"]


def test_strict_transport_security_only_over_https(client):
    assert "Strict-Transport-Security" not in client.get("/").headers
    assert "Strict-Transport-Security" in client.get("/", base_url="https://kb.example").headers


def test_head_is_get_without_the_body(client):
    for path in ("/", "/e/linear-width-mismatch"):
        head = client.head(path)
        assert head.headers["ETag"] == client.get(path).headers["ETag"]
        assert not head.data
    assert 'rel="canonical"' in client.get("/").text
