"""What an operator relies on: health and metrics."""

import re

METHODS = {"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE", "other"}


def test_health(client):
    assert client.get("/healthz").json == {"status": "ok", "entries": 4, "left_out": 0}


def test_metrics_count_lookups_and_hold_nothing_pasted(client, paste):
    client.post("/", data={"text": paste.splitlines()[-1]})
    client.post("/api/v1/lookup", json={"text": "ZeppelinError: no quux"})
    client.get("/secret-path")
    text = client.get("/metrics").text
    assert 'kb_lookups_total{confidence="exact",lang="en"} 1.0' in text
    assert 'kb_requests_total{method="POST",route="/",status="200"} 1.0' in text
    assert "kb_lookup_seconds_bucket" in text
    for word in ("secret", "mat1", "Zeppelin"):
        assert word not in text


def test_made_up_methods_and_paths_make_no_new_series(client):
    for number in range(20):
        client.open(f"/made/up/{number}", method=f"X{number}")
        client.open("/", method=f"Y{number}")
    text = client.get("/metrics").text
    assert set(re.findall(r'method="([^"]*)"', text)) <= METHODS
    assert len(re.findall(r"^kb_requests_total", text, re.MULTILINE)) <= 3


def test_metrics_can_be_switched_off(make_app):
    assert make_app(METRICS=False).test_client().get("/metrics").status_code == 404
