"""What an operator relies on: health, metrics, limits, settings, and entries that change while the server runs."""

import re
import shutil
import time

import pytest

from tests import small_corpus
from webapp import create_app
from webapp.knowledge import Library
from webapp.server import ServeError, serve
from webapp.settings import SETTINGS, SettingError, from_environment


def test_health(client):
    assert client.get("/healthz").json == {"status": "ok", "entries": 3, "left_out": 0}


def test_metrics_count_lookups_and_hold_nothing_pasted(client, paste):
    client.post("/", data={"text": paste})
    client.post("/api/v1/lookup", json={"text": "ZeppelinError: no quux"})
    client.get("/secret-path")
    text = client.get("/metrics").text
    assert 'kb_lookups_total{confidence="exact",lang="en"} 1.0' in text
    assert re.search(r'kb_requests_total{method="POST",route="/",status="200"} 1.0', text)
    assert "kb_lookup_seconds_bucket" in text
    for word in ("secret", "mat1", "Zeppelin"):
        assert word not in text


def test_metrics_can_be_switched_off(make_app):
    assert make_app(METRICS=False).test_client().get("/metrics").status_code == 404


@pytest.mark.parametrize("way", ["page", "api"])
def test_too_many_lookups_are_told_when_to_come_back(make_app, paste, way):
    client = make_app(RATE="2/minute").test_client()

    def ask(address="192.0.2.1"):
        if way == "page":
            return client.post("/", data={"text": paste}, environ_overrides={"REMOTE_ADDR": address})
        return client.post("/api/v1/lookup", json={"text": paste}, environ_overrides={"REMOTE_ADDR": address})

    assert [ask().status_code for _ in range(3)] == [200, 200, 429]
    assert 1 <= int(ask().headers["Retry-After"]) <= 61
    assert ask("192.0.2.2").status_code == 200
    assert client.get("/e/quiet-broadcast").status_code == 200


def test_a_client_cannot_name_itself_unless_a_proxy_is_trusted(make_app, paste):
    def statuses(client):
        return [
            client.post("/", data={"text": paste}, headers={"X-Forwarded-For": f"192.0.2.{i}"}).status_code
            for i in range(3)
        ]

    assert statuses(make_app(RATE="2/minute").test_client()) == [200, 200, 429]
    assert statuses(make_app(RATE="2/minute", PROXIES=1).test_client()) == [200, 200, 200]


def test_settings_come_from_the_environment_with_their_types():
    assert from_environment({}) == {item.name: item.default for item in SETTINGS}
    read = from_environment(
        {"KB_WEB_WORKERS": "3", "KB_WEB_METRICS": "off", "KB_WEB_REFRESH": "0.5", "KB_WEB_URL": "https://x.example"}
    )
    assert (read["WORKERS"], read["METRICS"], read["REFRESH"], read["URL"]) == (3, False, 0.5, "https://x.example")


@pytest.mark.parametrize(
    "wrong",
    [
        {"KB_WEB_WORKERS": "many"},
        {"KB_WEB_WORKERS": "0"},
        {"KB_WEB_PROXIES": "-1"},
        {"KB_WEB_REFRESH": "nan"},
        {"KB_WEB_METRICS": "perhaps"},
    ],
)
def test_a_wrong_setting_is_named(wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        from_environment(wrong)


def test_a_wrong_rate_is_named(library):
    with pytest.raises(SettingError, match="KB_WEB_RATE=often"):
        create_app({"LIBRARY": library, "RATE": "often"})


@pytest.mark.parametrize("port", [0, -1, 99999])
def test_an_impossible_port_is_told_in_one_line(port):
    with pytest.raises(ServeError, match="no port has the number"):
        serve(port=port)


def test_a_taken_address_is_told_in_one_line(unused_port_server):
    with pytest.raises(ServeError, match="cannot listen on"):
        serve(port=unused_port_server)


@pytest.fixture
def unused_port_server():
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def test_changed_entries_are_taken_up_and_a_broken_one_hides_no_other(tmp_path):
    entries = small_corpus.write(tmp_path)
    library = Library([entries], refresh_seconds=0)
    client = create_app({"TESTING": True, "LIBRARY": library, "RATE": ""}).test_client()
    page = client.get("/e/quiet-broadcast")
    assert library.refresh() is False

    path = entries / "shapes" / "quiet-broadcast.md"
    path.write_text(
        path.read_text("utf-8").replace("A loss broadcasts without a word", "A loss broadcasts silently"), "utf-8"
    )
    shutil.copy(path, entries / "data" / "another-entry.md")
    (entries / "data" / "loader-seed-warning.md").write_text("no entry at all", "utf-8")
    assert library.refresh() is True

    changed = client.get("/e/quiet-broadcast", headers={"If-None-Match": page.headers["ETag"]})
    assert "A loss broadcasts silently" in changed.text
    assert client.get("/e/another-entry").status_code == 200
    assert client.get("/e/loader-seed-warning").status_code == 404
    assert client.get("/healthz").json == {"status": "ok", "entries": 3, "left_out": 1}


def test_changes_are_noticed_without_anyone_asking_for_it(tmp_path):
    entries = small_corpus.write(tmp_path)
    library = Library([entries], refresh_seconds=0.02)
    (entries / "data" / "loader-seed-warning.md").unlink()
    for _ in range(500):
        if len(library.current().corpus) == 2:
            break
        time.sleep(0.02)
    assert len(library.current().corpus) == 2


def test_what_cannot_be_loaded_leaves_what_was_there(tmp_path, caplog):
    entries = small_corpus.write(tmp_path)
    library = Library([entries], refresh_seconds=0.02)
    next((entries / "verified").glob("*.json")).write_text("{broken", "utf-8")
    for _ in range(500):
        library.current()
        if "cannot be loaded" in caplog.text:
            break
        time.sleep(0.02)
    assert "cannot be loaded" in caplog.text
    assert len(library.current().corpus) == 3


def test_an_instance_without_entries_says_so(tmp_path):
    (tmp_path / "entries").mkdir()
    client = create_app({"TESTING": True, "LIBRARY": Library([tmp_path / "entries"], refresh_seconds=0)}).test_client()
    assert client.get("/healthz").status_code == 503
    assert client.get("/").status_code == 200
