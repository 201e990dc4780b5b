"""Pages answered in front of Flask are the very pages that Flask would send."""

import pytest

PATH = "/e/linear-width-mismatch"


@pytest.fixture
def counted(app):
    """A client that tells how often Flask itself was asked."""
    calls = []
    app.before_request(lambda: calls.append(1))
    return app.test_client(), calls


@pytest.mark.parametrize("query", ["", "?lang=en", "?lang=zh"])
@pytest.mark.parametrize("headers", [{}, {"Accept-Language": "zh-CN", "Accept-Encoding": "gzip"}])
def test_the_second_answer_is_the_first_without_asking_flask(counted, query, headers):
    client, calls = counted
    first = client.get(PATH + query, headers=headers)
    second = client.get(PATH + query, headers=headers)
    assert len(calls) == 1
    assert (first.status, first.data) == (second.status, second.data)
    assert sorted(first.headers) == sorted(second.headers)


def test_language_packing_and_scheme_are_kept_apart(counted):
    client, calls = counted
    answers = [
        client.get(PATH, headers={"Accept-Language": "en"}),
        client.get(PATH, headers={"Accept-Language": "zh"}),
        client.get(PATH, headers={"Accept-Language": "en", "Accept-Encoding": "gzip"}),
        client.get(PATH, headers={"Accept-Language": "en"}, base_url="https://kb.example"),
    ]
    assert len(calls) == 4
    assert len({answer.data for answer in answers[:3]}) == 3
    assert ["Strict-Transport-Security" in answer.headers for answer in answers] == [False, False, False, True]


def test_an_unchanged_page_is_not_sent_again(counted):
    client, calls = counted
    first = client.get(PATH)
    again = client.get(PATH, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data, len(calls)) == (304, b"", 1)
    assert "Content-Length" not in again.headers
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.headers["Content-Security-Policy"]


def test_anything_unusual_passes_through(counted, paste):
    client, calls = counted
    client.get(PATH)
    for path in (PATH + "?lang=xx", PATH + "?x=1", "/nix", "/e/old-linear-slug", "/?q=hello"):
        client.get(path)
        client.get(path)
    client.head(PATH)
    client.post("/", data={"text": paste})
    client.post("/", data={"text": paste})
    assert len(calls) == 1 + 10 + 3


def test_it_is_counted_like_any_other_request(client):
    for _ in range(3):
        client.get("/browse")
    assert 'kb_requests_total{method="GET",route="/browse",status="200"} 3.0' in client.get("/metrics").text
