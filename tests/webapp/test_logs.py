"""The log says what happened and nothing of what was sent."""

import io
import json
import logging

import pytest

from webapp import logs


@pytest.fixture
def configured():
    """Configure the log for a test: returns what it wrote since."""
    loggers = [logging.getLogger(name) for name in ("webapp", "waitress", "waitress.queue")]
    before = [(logger.handlers[:], logger.propagate, logger.level) for logger in loggers]
    stream = io.StringIO()

    def configure(style):
        logs.configure(style)
        loggers[0].handlers[0].setStream(stream)
        return lambda: stream.getvalue().splitlines()

    yield configure
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.fixture
def lines(configured):
    written = configured("json")
    return lambda: [json.loads(line) for line in written()]


def test_a_lookup_is_logged_without_a_word_of_the_paste(client, paste, lines):
    client.post("/", data={"text": paste})
    client.post("/api/v1/lookup", json={"text": paste})
    client.get("/", query_string={"q": paste})
    client.get("/api/v1/lookup", query_string={"text": paste})
    written = lines()
    assert [line["status"] for line in written] == [200] * 4
    [confidence] = {line["confidence"] for line in written}
    assert confidence in ("exact", "likely")
    assert all(line["ms"] >= 0 for line in written)
    text = json.dumps(written)
    for word in ("secret-project", "mat1", "train.py", "x127"):
        assert word not in text


def test_unknown_addresses_queries_and_methods_are_not_logged(client, lines):
    client.get("/my-secret-path?token=my-secret-token")
    client.get("/e/my-secret-slug")
    client.open("/", method="MYSECRETMETHOD")
    written = json.dumps(lines()).lower()
    assert "secret" not in written
    assert '"route": "/e/<slug>"' in written
    assert '"method": "other"' in written


def test_off_leaves_warnings(client, configured):
    written = configured("off")
    client.get("/")
    logging.getLogger("webapp").warning("look %s", "here")
    assert [line.endswith(" warning: look here") for line in written()] == [True]


def test_text_is_for_people(client, configured):
    written = configured("text")
    client.get("/browse")
    assert " GET /browse 200 " in written()[0]


def test_a_fault_in_the_server_is_logged_without_the_path_and_the_text(lines):
    try:
        raise ValueError("my-secret-paste")
    except ValueError:
        logging.getLogger("waitress").exception("Exception while serving %s", "/my-secret-path")
    (line,) = lines()
    assert "ValueError at" in line["message"]
    assert "test_logs.py" in line["message"]
    assert "secret" not in json.dumps(line)
