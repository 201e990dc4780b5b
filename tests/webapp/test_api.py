"""The API: answers as the terminal gives them, clear refusals, open to other origins."""

import pytest

from tests import small_corpus


def test_lookup_by_json_plain_text_and_address_gives_the_same(client, paste):
    answers = [
        client.post("/api/v1/lookup", json={"text": paste, "lang": "en"}),
        client.post("/api/v1/lookup?lang=en", data=paste, content_type="text/plain"),
        client.get("/api/v1/lookup", query_string={"text": paste, "lang": "en"}),
    ]
    assert [answer.status_code for answer in answers] == [200] * 3
    found = answers[0].json
    assert found["answered"] is True
    assert set(found) == {"answered", "matches", "errors", "record", "understood", "cause", "change"}
    assert 1 <= found["cause"]["item"] <= len(found["matches"][0]["items"]["en"])
    first = found["matches"][0]
    assert first["id"] == "linear-width-mismatch"
    assert first["confidence"] in ("exact", "likely")
    guidance = {"answer", "items", "how_to_tell", "why"}
    assert {"id", "confidence", "score", "title", "evidence", "url"} | guidance == set(first)
    assert first["items"]["en"][1]["cases"] == ["on-gpu"]
    assert [match["id"] for answer in answers for match in answer.json["matches"][:1]] == ["linear-width-mismatch"] * 3


def test_lookup_of_the_unknown_is_no_error(client):
    answer = client.post("/api/v1/lookup", json={"text": "ZeppelinError: the frobnicator has no quux left"})
    assert answer.status_code == 200
    assert answer.json["answered"] is False
    assert answer.json["cause"] is answer.json["change"] is None


def test_a_change_of_the_senders_own_line_is_part_of_the_answer(client, paste):
    answer = client.post("/api/v1/lookup", json={"text": small_corpus.OWN_LINE}).json
    assert answer["change"] == {
        "file": "/home/me/train&1.py",
        "line": 14,
        "before": ['loss = nn.Linear(4, 2)(hidden["a<b"])'],
        "after": ['loss = nn.Linear(hidden["a<b"].shape[-1], 2)(hidden["a<b"])'],
        "case": "plain",
    }
    assert client.post("/api/v1/lookup", json={"text": paste}).json["change"] is None


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"json": {}}, 422),
        ({"json": {"text": ""}}, 422),
        ({"json": {"text": 3}}, 422),
        ({"json": {"text": "a", "lang": "fr"}}, 422),
        ({"json": {"text": "a", "limit": 0}}, 422),
        ({"json": {"text": "a", "limit": True}}, 422),
        ({"json": {"text": "a", "limit": 1000}}, 422),
        ({"json": ["a"]}, 400),
        ({"data": "{", "content_type": "application/json"}, 400),
        ({"data": "a", "content_type": "image/png"}, 415),
        ({"json": {"text": "a" * ((1 << 20) + 1)}}, 413),
        ({"data": "a" * (4 << 20), "content_type": "text/plain"}, 413),
    ],
)
def test_refusals_are_problems_that_say_what_to_send(client, options, status):
    answer = client.post("/api/v1/lookup", **options)
    assert answer.status_code == status
    assert answer.mimetype == "application/problem+json"
    assert answer.json["status"] == status
    assert len(answer.json["detail"]) > 10


def test_limit(client):
    assert (
        len(client.post("/api/v1/lookup", json={"text": "shapes of the first layer", "limit": 1}).json["matches"]) <= 1
    )


def test_entries_are_listed_and_filtered(client):
    def ids(**query):
        return {entry["id"] for entry in client.get("/api/v1/entries", query_string=query).json["entries"]}

    assert ids() == {"linear-width-mismatch", "quiet-broadcast", "loader-seed-warning", "training-stands-still"}
    assert ids(kind="symptom") == {"training-stands-still"}
    assert ids(topic="shapes") == {"linear-width-mismatch", "quiet-broadcast"}
    assert ids(tag="dataloader") == {"loader-seed-warning"}
    assert ids(kind="silent") == {"quiet-broadcast"}
    assert ids(topic="nix") == set()
    assert client.get("/api/v1/entries?kind=nix").status_code == 422


def test_an_entry_comes_whole_with_what_was_proven(client):
    entry = client.get("/api/v1/entries/linear-width-mismatch").json
    assert entry["why"]["zh"].startswith("`first` 的输出宽度")
    assert entry["answer"]["en"].startswith("Give `first`")
    assert entry["items"]["zh"][0]["cause"] == "上一层的输出宽度不同"
    assert entry["fix"]["en"].endswith("change the `first` layer there. [on-gpu](#on-gpu)")
    assert entry["messages"][0]["explain"]["en"] == "Your input has {left[1]} columns."
    assert entry["messages"][1]["explain"] is None
    assert (entry["checks"][0]["id"], entry["checks"][0]["printed"]) == (
        "linear-width-mismatch/widths",
        "torch.Size([3, 4])\n",
    )
    plain, cuda = entry["cases"]
    assert (plain["state"], cuda["state"]) == ("verified", "unverified")
    assert plain["verified"][0]["torch"] == "2.13.0+cpu"
    assert "nn.Linear(8, 5)" in plain["repro"]
    assert client.get("/api/v1/entries/old-linear-slug").json["id"] == "linear-width-mismatch"


@pytest.mark.parametrize("path", ["/api/v1/entries/nix", "/api/v1/nix", "/api/v1/names/nix"])
def test_what_does_not_exist_is_a_problem(client, path):
    answer = client.get(path)
    assert (answer.status_code, answer.mimetype) == (404, "application/problem+json")


def test_a_wrong_method_names_the_right_ones(client):
    answer = client.delete("/api/v1/lookup")
    assert answer.status_code == 405
    assert "POST" in answer.headers["Allow"]


def test_other_origins_may_read(client):
    assert client.get("/api/v1/entries").headers["Access-Control-Allow-Origin"] == "*"
    assert client.post("/api/v1/lookup", json={}).headers["Access-Control-Allow-Origin"] == "*"
    preflight = client.options(
        "/api/v1/lookup", headers={"Origin": "https://x.example", "Access-Control-Request-Method": "POST"}
    )
    assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
    assert preflight.headers["Access-Control-Allow-Headers"] == "Content-Type"
    assert "Access-Control-Allow-Origin" not in client.get("/").headers
