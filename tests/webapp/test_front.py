"""Pages answered in front of Flask are the very pages that Flask would send."""

from dataclasses import replace

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


def test_anything_unusual_passes_through(counted):
    client, calls = counted
    client.get(PATH)
    for path in (PATH + "?lang=xx", PATH + "?x=1", "/nix", "/e/old-linear-slug", "/?q=hello"):
        client.get(path)
        client.get(path)
    client.head(PATH)
    assert len(calls) == 1 + 10 + 1


ASK = [
    lambda client, text: client.post("/", data={"text": text}),
    lambda client, text: client.get("/", query_string={"q": text}),
    lambda client, text: client.post("/api/v1/lookup", json={"text": text}),
    lambda client, text: client.post("/api/v1/lookup", data=text, content_type="text/plain"),
    lambda client, text: client.get("/api/v1/lookup", query_string={"text": text}),
]


@pytest.mark.parametrize("ask", ASK)
def test_a_question_asked_again_has_the_same_answer_without_asking_flask(counted, paste, ask):
    client, calls = counted
    first, second = ask(client, paste), ask(client, paste)
    assert len(calls) == 1
    assert (first.status, first.data) == (second.status, second.data)
    assert sorted(first.headers) == sorted(second.headers)
    assert ask(client, paste + " ").status_code == 200
    assert len(calls) == 2


def test_ways_of_asking_are_kept_apart(counted, paste):
    client, calls = counted
    bodies = {ask(client, paste).data for ask in ASK}
    assert len(calls) == len(ASK)
    assert len(bodies) == 2  # the page and the API's answer
    chinese = client.post("/", data={"text": paste}, headers={"Accept-Language": "zh"})
    assert chinese.data not in bodies


def test_what_has_no_answer_is_looked_up_each_time(counted):
    client, calls = counted
    for _ in range(2):
        assert not client.post("/api/v1/lookup", json={"text": "FrobError: no such frob"}).json["answered"]
    assert client.post("/api/v1/lookup", json={"text": ""}).status_code == 422
    assert client.post("/api/v1/lookup", json={"text": ""}).status_code == 422
    assert len(calls) == 4


def test_an_answer_is_held_no_longer_than_the_operator_says(make_app, paste, monkeypatch):
    def asked(**config):
        app, calls = make_app(**config), []
        app.before_request(lambda: calls.append(1))
        for seconds in (0, 5, 11):
            monkeypatch.setattr("webapp.recent.time.monotonic", lambda at=seconds: 1000.0 + at)
            app.test_client().post("/", data={"text": paste})
        return len(calls)

    assert asked(RECENT=10.0) == 2
    assert asked(RECENT=0.0) == 3


def test_questions_asked_again_count_against_the_rate_and_in_the_numbers(make_app, paste):
    client = make_app(RATE="3/minute").test_client()
    answers = [client.post("/api/v1/lookup", json={"text": paste}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert 'kb_lookups_total{confidence="exact",lang="en"} 3.0' in client.get("/metrics").text


@pytest.mark.parametrize("ask", [lambda client, _: client.get(PATH), ASK[0]])
def test_what_entries_said_before_they_changed_is_not_held(make_app, library, paste, ask, monkeypatch):
    app, calls = make_app(), []

    @app.before_request
    def change():
        calls.append(1)
        if len(calls) == 1:
            monkeypatch.setattr(library, "_knowledge", replace(library.current(), stamp="changed meanwhile"))

    client = app.test_client()
    for _ in range(3):
        assert ask(client, paste).status_code == 200
    assert len(calls) == 2


def test_it_is_counted_like_any_other_request(client):
    for _ in range(3):
        client.get("/browse")
    assert 'kb_requests_total{method="GET",route="/browse",status="200"} 3.0' in client.get("/metrics").text
