"""The Celery application that client and worker share: its names, and the settings that decide what a failure costs."""

from __future__ import annotations

import ssl
from typing import Any, NamedTuple

from celery import Celery
from redis import Redis

from sandbox.redis_address import check_address

__all__ = [
    "HEARTBEAT",
    "QUEUES",
    "REDELIVER_AFTER",
    "TASK",
    "Queue",
    "alive_key",
    "busy_key",
    "here_key",
    "host_key",
    "live_queues",
    "make_app",
    "output_key",
    "redis_client",
    "started_key",
    "waiting_key",
    "wanted_key",
]

TASK = "kb.run-batch"

REDELIVER_AFTER = 1800
"""Celery's visibility timeout in seconds, after which a message that nobody acknowledged is delivered again: longer than any batch takes."""

QUEUES = "kb:queues"
"""The key of the names of all queues from which a worker has ever taken."""

HEARTBEAT = 15
"""Seconds without a sign of life after which the client takes a worker for gone and sends its batch again."""


def make_app(broker: str, *, redeliver_after: int = REDELIVER_AFTER) -> Celery:
    """Return an application for the broker at that `redis://` or `rediss://` address, which may hold a password.

    A batch is acknowledged when it has ended, so a worker that dies loses nothing. A worker takes one batch at a time. Only JSON is read: a message in
    another form, such as pickle, is refused before anything in it is used. Raises `AddressError`.
    """
    check_address(broker)
    app = Celery("kb", broker=broker, backend=broker, set_as_current=False)
    seconds_to_answer = 5.0  # of Redis; no call waits for ever
    app.conf.update(
        accept_content=["json"],
        result_accept_content=["json"],
        task_serializer="json",
        result_serializer="json",
        task_acks_late=True,
        task_reject_on_worker_lost=False,  # the client counts how often a batch has killed its process, and sends it again
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": redeliver_after,
            "socket_keepalive": True,
            "socket_connect_timeout": seconds_to_answer,
        },
        redis_socket_timeout=seconds_to_answer,
        redis_socket_connect_timeout=seconds_to_answer,
        result_backend_transport_options={"retry_policy": {"timeout": seconds_to_answer}},
        result_backend_always_retry=True,
        result_expires=2 * redeliver_after,
        task_create_missing_queues=True,
    )
    if broker.startswith("rediss://"):
        app.conf.broker_use_ssl = app.conf.redis_backend_use_ssl = {"ssl_cert_reqs": ssl.CERT_REQUIRED}
    return app


class Queue(NamedTuple):
    """The batches for one version of torch, one device and one environment, so that no machine gets what it cannot run.

    `environment` is the label of packages beside those of every sandbox, empty for none.
    """

    torch: str
    device: str
    environment: str = ""

    @property
    def name(self) -> str:
        """Its name at the broker."""
        return ":".join(("kb", *self))


def live_queues(redis: Redis) -> list[Queue]:
    """Return the queues from which a worker takes at present, sorted. Raises `redis.RedisError`."""
    members: Any = redis.smembers(QUEUES)
    names = sorted(member.decode() for member in members)
    lives: Any = redis.mget(map(here_key, names)) if names else []
    return [Queue(*name.split(":")[1:]) for name, is_here in zip(names, lives, strict=True) if is_here]


def redis_client(app: Celery) -> Redis:
    """Return the connection of the result store, for the few keys that are not Celery's."""
    client: Any = app.backend.client
    return client  # type: ignore[no-any-return] # Celery has no types


def waiting_key(queue: str, priority: int) -> str:
    """Return the key of the list in which kombu keeps the messages of a queue with that priority, a multiple of three above 0."""
    return f"{queue}\x06\x16{priority}"


def wanted_key(batch: str) -> str:
    """Return the key that exists as long as a client waits for the batch. A worker runs no other, and stops one that nobody waits for any more."""
    return f"kb:wanted:{batch}"


def started_key(batch: str) -> str:
    """Return the key that says that a worker has begun the batch."""
    return f"kb:started:{batch}"


def alive_key(batch: str) -> str:
    """Return the key that expires `HEARTBEAT` seconds after the last sign of life of the worker that runs the batch."""
    return f"kb:alive:{batch}"


def output_key(batch: str) -> str:
    """Return the key of what the programs of a live batch have printed so far, and how they ended."""
    return f"kb:output:{batch}"


def here_key(queue: str) -> str:
    """Return the key that expires `HEARTBEAT` seconds after the last sign of life of all workers that take from the queue."""
    return f"kb:here:{queue}"


def host_key(host: str) -> str:
    """Return the key that expires `HEARTBEAT` seconds after the last sign of life of the workers of a host."""
    return f"kb:host:{host}"


def busy_key(queue: str) -> str:
    """Return the key that expires `HEARTBEAT` seconds after a batch of the queue was last seen to run."""
    return f"kb:busy:{queue}"
