"""The log says what happened and nothing of what was sent."""

import io
import json
import logging
import time

import pytest

from webapp import logs


@pytest.fixture
def lines():
    logger = logging.getLogger("webapp")
    before = logger.handlers[:], logger.propagate, logger.level
    logs.configure("json")
    logger.handlers[0].stream = stream = io.StringIO()

    def written(count):
        for _ in range(200):
            found = [json.loads(line) for line in stream.getvalue().splitlines()]
            if len(found) >= count:
                return found
            time.sleep(0.02)
        raise AssertionError(stream.getvalue())

    yield written
    logger.handlers[:], logger.propagate = before[:2]
    logger.setLevel(before[2])


def test_a_lookup_is_logged_without_a_word_of_the_paste(client, paste, lines):
    client.post("/", data={"text": paste})
    client.post("/api/v1/lookup", json={"text": paste})
    client.get("/", query_string={"q": paste})
    client.get("/api/v1/lookup", query_string={"text": paste})
    written = lines(4)
    assert [line["status"] for line in written] == [200] * 4
    assert {line["confidence"] for line in written} == {"exact"}
    assert all(line["ms"] >= 0 for line in written)
    text = json.dumps(written)
    for word in ("secret-project", "mat1", "train.py", "x127"):
        assert word not in text


def test_unknown_addresses_and_queries_are_not_logged(client, lines):
    client.get("/my-secret-path?token=my-secret-token")
    client.get("/e/my-secret-slug")
    written = json.dumps(lines(2))
    assert "secret" not in written
    assert '"route": "/e/<slug>"' in written


def test_a_warning_is_written_at_once(lines):
    logging.getLogger("webapp").warning("look %s", "here")
    assert logging.getLogger("webapp").handlers[0].stream.getvalue().count("look here") == 1


def test_text_is_for_people():
    record = logging.LogRecord("webapp", logging.INFO, "", 0, "hello %s", ("you",), None)
    assert logs._Text().format(record).endswith(" hello you")
