"""Rate limits: of look-ups and runs, for each client."""

import pytest
from werkzeug.exceptions import TooManyRequests

from webapp.limiting import RateLimiter, client_key
from webapp.settings import SettingError


@pytest.fixture
def limited(make_app):
    return make_app(RATE="2/minute").test_client()


@pytest.mark.parametrize("way", ["page", "api"])
def test_too_many_lookups_are_told_when_to_come_back(limited, paste, way):
    def ask(address="192.0.2.1"):
        client = {"environ_overrides": {"REMOTE_ADDR": address}}
        if way == "page":
            return limited.post("/", data={"text": paste}, **client)
        return limited.post("/api/v1/lookup", json={"text": paste}, **client)

    assert [ask().status_code for _ in range(3)] == [200, 200, 429]
    assert 1 <= int(ask().headers["Retry-After"]) <= 61
    assert ask("192.0.2.2").status_code == 200
    assert limited.get("/e/quiet-broadcast").status_code == 200


def test_a_client_cannot_name_itself_unless_a_proxy_is_trusted(make_app, paste):
    def statuses(client):
        return [
            client.post("/", data={"text": paste}, headers={"X-Forwarded-For": f"192.0.2.{i}"}).status_code
            for i in range(3)
        ]

    assert statuses(make_app(RATE="2/minute").test_client()) == [200, 200, 429]
    assert statuses(make_app(RATE="2/minute", PROXIES=1).test_client()) == [200, 200, 200]


def test_a_subscriber_with_many_ipv6_addresses_is_one_client():
    limiter = RateLimiter({"RATE": "1/minute"})
    limiter.check("RATE", "2001:db8:1:2::1")
    with pytest.raises(TooManyRequests):
        limiter.check("RATE", "2001:db8:1:2:ffff::9")
    limiter.check("RATE", "2001:db8:1:3::1")


def test_an_ipv4_address_is_the_same_client_on_an_ipv6_socket():
    assert client_key("::ffff:192.0.2.7") == client_key("192.0.2.7") == "192.0.2.7"
    assert client_key("unknown") == "unknown"


@pytest.mark.redis
def test_all_processes_count_together_in_redis(broker):
    first, second = (RateLimiter({"RATE": "3/minute"}, broker.url) for _ in range(2))
    first.check("RATE", "192.0.2.1")
    second.check("RATE", "192.0.2.1")
    first.check("RATE", "192.0.2.1")
    with pytest.raises(TooManyRequests):
        second.check("RATE", "192.0.2.1")


@pytest.mark.redis
def test_a_redis_that_is_away_lets_in_everybody_or_nobody_and_comes_back_by_itself(broker, make_app, paste):
    def ask(client):
        return client.post("/", data={"text": paste}).status_code

    lenient = make_app(RATE="1/minute", REDIS=broker.url).test_client()
    strict = make_app(RATE="100/minute", REDIS=broker.url, REDIS_GONE="closed").test_client()
    broker.stop()
    assert [ask(lenient), ask(lenient), ask(strict)] == [200, 200, 503]
    assert strict.get("/e/quiet-broadcast").status_code == 200
    broker.start()
    assert [ask(lenient), ask(lenient), ask(strict)] == [200, 429, 200]


@pytest.mark.parametrize(
    ("config", "named"), [({"REDIS": "host:6379"}, "KB_REDIS"), ({"REDIS_GONE": "shut"}, "KB_WEB_REDIS_GONE")]
)
def test_a_wrong_redis_setting_is_named(make_app, config, named):
    with pytest.raises(SettingError, match=named):
        make_app(**config)
