"""Web processes reach a Redis over TLS with a password, and say at their start where it refuses them."""

import pytest

from tests.redis_server import WorkerProcess, await_that
from tests.webapp.test_several import follow, over, press
from webapp.settings import SettingError

pytestmark = [pytest.mark.redis, pytest.mark.slow]


@pytest.mark.bubblewrap
@pytest.mark.torch
def test_limits_metrics_misses_and_runs_go_over_tls(make_app, tls_broker, tmp_path, paste, caplog):
    worker = WorkerProcess(tls_broker.url, tmp_path / "worker.log", "--backend", "bubblewrap")
    app = make_app(RUN=True, RUN_RATE="", RATE="1/minute", REDIS=tls_broker.url, MISSES="redis", REDIS_GONE="closed")
    client = app.test_client()
    try:
        assert [client.post("/", data={"text": paste}).status_code for _ in range(2)] == [200, 429]
        await_that(
            lambda: tls_broker.client.keys("kb:here:*"), lambda: worker.process.poll() is None, "the worker is there"
        )
        assert follow(client, press(client).json, over)["state"] == "done", worker.log
        assert 'kb_runs_total{outcome="passed"} 2.0' in client.get("/metrics").text
        feedback = app.extensions["kb"].feedback
        feedback.count_vote("quiet-broadcast", helped=True)
        assert feedback.votes() == [("quiet-broadcast", 1, 0)]
    finally:
        worker.stop()
        app.extensions["kb"].jobs.close()
        app.extensions["kb"].metrics.close()
    assert not [record for record in caplog.records if tls_broker.password in record.getMessage()]


def test_a_redis_that_refuses_is_said_at_the_start(make_app, tls_broker):
    for url, said in (
        (tls_broker.address(password="another-secret"), "refuses the password"),
        (tls_broker.address(authority=tls_broker.stranger), "has a certificate that is not trusted"),
    ):
        with pytest.raises(SettingError, match=f"KB_REDIS: the Redis {said}") as refused:
            make_app(REDIS=url)
        assert "secret" not in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("url", ["amqp://:secret@host", "redis://:sec#ret@host", "redis://:sec?ret@host", "host:6379"])
def test_a_wrong_address_is_not_repeated(make_app, url):
    with pytest.raises(SettingError, match="KB_REDIS: ") as refused:
        make_app(REDIS=url)
    assert not {"secret", "sec", "ret", "host"} & set(str(refused.value).lower().replace("@", " ").split())
