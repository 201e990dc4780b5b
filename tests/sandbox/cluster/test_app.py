"""The application that client and worker share."""

import ssl

from sandbox.cluster.app import Queue, make_app, redis_client


def test_a_broker_with_tls_is_asked_for_its_certificate_by_both_of_its_connections():
    with make_app("rediss://:a-secret@queue.example:6379/0") as app:
        results = redis_client(app).connection_pool.connection_kwargs
        with app.connection_for_write() as connection:
            assert connection.ssl == {"ssl_cert_reqs": ssl.CERT_REQUIRED}
    assert (results["ssl_cert_reqs"], results["password"]) == (ssl.CERT_REQUIRED, "a-secret")


def test_queues_are_told_apart_by_version_device_and_environment():
    names = {
        Queue(*parts).name for parts in [("2.4.1", "cpu"), ("2.4", "cpu"), ("2.4.1", "cuda"), ("2.4.1", "cpu", "a")]
    }
    assert len(names) == 4
