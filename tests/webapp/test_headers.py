"""Security headers on every response."""

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
    assert headers["Referrer-Policy"] == "same-origin"
    assert "Set-Cookie" not in headers


@pytest.mark.parametrize("path", ["/", "/e/linear-width-mismatch", "/browse", "/nix"])
def test_no_page_has_inline_script_or_style_or_a_foreign_file(client, path):
    page = client.get(path).text
    assert not re.search(r"<style|\sstyle=|\son\w+=", page)
    assert not re.search(r"<script(?![^>]*(src=|type=.application/ld\+json))", page)
    assert not re.search(r'(src=|<link rel="stylesheet" href=)"https?:', page)


def test_an_answer_to_a_paste_is_kept_by_the_readers_browser_alone(client, paste):
    headers = client.post("/", data={"text": paste}).headers
    assert set(headers["Cache-Control"].split(", ")) == {"private", "no-cache"}
    assert headers["X-Robots-Tag"] == "noindex"


def test_strict_transport_security_only_over_https(client):
    assert "Strict-Transport-Security" not in client.get("/").headers
    assert "Strict-Transport-Security" in client.get("/", base_url="https://kb.example").headers


def test_a_site_that_shares_its_host_leaves_strict_transport_security_to_the_host(make_app):
    client = make_app(URL="https://tools.example/kb").test_client()
    assert "Strict-Transport-Security" not in client.get("/", base_url="https://tools.example").headers
