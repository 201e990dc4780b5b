"""The Celery application that client and worker share: its names, and the settings that decide what a failure costs."""

from __future__ import annotations

from typing import Any

from celery import Celery
from redis import Redis

__all__ = [
    "HEARTBEAT",
    "REDELIVER_AFTER",
    "TASK",
    "alive_key",
    "make_app",
    "queue_name",
    "redis_client",
    "started_key",
    "wanted_key",
]

TASK = "kb.run-batch"

REDELIVER_AFTER = 1800
"""Celery's visibility timeout in seconds, after which a message that nobody acknowledged is delivered again: longer than any batch takes."""

HEARTBEAT = 15
"""Seconds without a sign of life after which the client takes a worker for gone and sends its batch again."""


def make_app(broker: str, *, redeliver_after: int = REDELIVER_AFTER) -> Celery:
    """Return an application for the broker at that `redis://` or `rediss://` address, which may hold a password.

    A batch is acknowledged when it has ended, so a worker that dies loses nothing. A worker takes one batch at a time. Only JSON is read: a message in
    another form, such as pickle, is refused before anything in it is used.
    """
    app = Celery("kb", broker=broker, backend=broker, set_as_current=False)
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
        broker_transport_options={"visibility_timeout": redeliver_after, "socket_keepalive": True},
        result_backend_transport_options={"retry_policy": {"timeout": 5.0}},
        result_backend_always_retry=True,
        result_expires=2 * redeliver_after,
        task_create_missing_queues=True,
    )
    return app


def queue_name(torch: str, device: str) -> str:
    """Return the queue of the batches for a version of torch and a device, so that no machine gets what it cannot run."""
    return f"kb.torch-{torch}.{device}"


def redis_client(app: Celery) -> Redis:
    """Return the connection of the result store, for the few keys that are not Celery's."""
    client: Any = app.backend.client
    return client  # type: ignore[no-any-return] # Celery has no types


def wanted_key(batch: str) -> str:
    """Return the key that exists as long as a client waits for the batch. A worker runs no other, and stops one that nobody waits for any more."""
    return f"kb:wanted:{batch}"


def started_key(batch: str) -> str:
    """Return the key that says that a worker has begun the batch."""
    return f"kb:started:{batch}"


def alive_key(batch: str) -> str:
    """Return the key that expires `HEARTBEAT` seconds after the last sign of life of the worker that runs the batch."""
    return f"kb:alive:{batch}"
