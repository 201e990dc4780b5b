"""What a browser may keep, conditional requests, and compression."""

import gzip
import re

import brotli
import pytest

PATH = "/e/linear-width-mismatch"
UNPACK = {"gzip": gzip.decompress, "br": brotli.decompress}


def static_urls(client):
    return re.findall(r'(?:src|href)="(/static/[^"]+)"', client.get("/").text)


@pytest.mark.parametrize("path", ["/", PATH, "/browse", "/api/v1/entries", "/llms.txt", "/feed.xml"])
@pytest.mark.parametrize("encoding", ["identity", "gzip", "br"])
def test_an_unchanged_page_is_not_sent_again(client, path, encoding):
    headers = {"Accept-Encoding": encoding}
    first = client.get(path, headers=headers)
    again = client.get(path, headers={**headers, "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.headers["Content-Security-Policy"]
    other_page = client.get("/browse" if path != "/browse" else "/", headers={"If-None-Match": first.headers["ETag"]})
    assert other_page.status_code == 200


def test_languages_and_encodings_have_etags_of_their_own(client):
    etags = {
        client.get(PATH, headers={"Accept-Language": lang, "Accept-Encoding": encoding}).headers["ETag"]
        for lang in ("en", "zh")
        for encoding in ("identity", "gzip", "br")
    }
    assert len(etags) == 6


def test_an_answer_to_a_paste_has_no_etag(client, paste):
    response = client.post("/", data={"text": paste})
    assert "ETag" not in response.headers


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_pages_and_static_files_are_compressed_for_those_who_can_read_that(client, encoding):
    for address in ("/browse", *static_urls(client)):
        plain, packed = client.get(address), client.get(address, headers={"Accept-Encoding": encoding})
        assert "Content-Encoding" not in plain.headers
        if packed.headers.get("Content-Encoding"):  # the icon is too small
            assert packed.headers["Content-Encoding"] == encoding
            assert UNPACK[encoding](packed.data) == plain.data
            assert plain.headers["ETag"] != packed.headers["ETag"]
        else:
            assert len(plain.data) < 1000
        assert "Accept-Encoding" in packed.headers["Vary"]
        assert plain.headers["Content-Type"] == packed.headers["Content-Type"]


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("", None),
        ("identity", None),
        ("gzip;q=0", None),
        ("gzip; q=0, br;q=0", None),
        ("*;q=0", None),
        ("gzip;q=0, *", "br"),
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "br"),
        ("br;q=0.1, gzip;q=0.9", "gzip"),
        ("*", "br"),
        ("deflate", None),
    ],
)
def test_the_encoding_is_one_that_the_client_accepts(client, accepted, encoding):
    assert client.get("/browse", headers={"Accept-Encoding": accepted}).headers.get("Content-Encoding") == encoding


def test_a_static_file_is_kept_for_a_year_under_the_hash_of_its_content(client):
    addresses = static_urls(client)
    assert len(addresses) >= 4
    for address in addresses:
        assert "immutable" in client.get(address).headers["Cache-Control"]
        outdated = client.get(re.sub(r"v=\w+", "v=0000", address))
        assert outdated.status_code == 200
        assert "immutable" not in outdated.headers["Cache-Control"]
        again = client.get(address, headers={"If-None-Match": outdated.headers["ETag"]})
        assert again.status_code == 304


def test_head_is_get_without_the_body(client):
    for path in ("/", PATH):
        head = client.head(path)
        assert head.headers["ETag"] == client.get(path).headers["ETag"]
        assert not head.data
