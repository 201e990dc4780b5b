"""Metrics of several web processes and machines, summed in a Redis. A process adds to the sums what it has counted since it did so last."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from redis import RedisError
from werkzeug.exceptions import ServiceUnavailable

from webapp.metrics import Metrics
from webapp.redis_store import connect

__all__ = ["SharedMetrics"]

log = logging.getLogger("webapp")
_KEY = "kb:metrics"
_FLUSH_SECONDS = 2.0
_RETRY_SECONDS = 10


class SharedMetrics(Metrics):
    """`Metrics` whose numbers are in Redis.

    While Redis is away, a process keeps what it counts, and adds it once Redis is back.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._redis = connect(url)
        self._added: dict[str, float] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._flusher: threading.Thread | None = None

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request; see `Metrics`. The first one starts the thread that adds to the sums."""
        super().count_request(route, method, status, seconds)
        if self._flusher is None:
            with self._lock:
                if self._flusher is None:
                    self._flusher = threading.Thread(target=self._flush_again_and_again, name="metrics", daemon=True)
                    self._flusher.start()

    def exposition(self) -> bytes:
        """Return the sums in Prometheus' text format. Raises ServiceUnavailable (503) while Redis is away, because a part would look like a restart."""
        try:
            self._flush()
            sums: Any = self._redis.hgetall(_KEY)
        except RedisError as error:
            raise ServiceUnavailable(retry_after=_RETRY_SECONDS) from error
        values = {name.decode(): float(value) for name, value in sums.items()}
        return generate_latest(_Sums(list(self._registry.collect()), values))

    def close(self) -> None:
        """Add what has been counted and stop."""
        self._stopped.set()
        try:
            self._flush()
        except RedisError as error:
            log.warning("metrics: Redis is away: %s", error)
        self._redis.close()

    def _flush_again_and_again(self) -> None:
        is_away = False
        while not self._stopped.wait(_FLUSH_SECONDS):
            try:
                self._flush()
                is_away = False
            except RedisError as error:
                if not is_away:
                    log.warning("metrics: Redis is away: %s", error)
                is_away = True

    def _flush(self) -> None:
        """Add what was counted since the last time, all of it or nothing. Raises RedisError."""
        with self._lock:
            values = {
                _field(sample.name, sample.labels): sample.value
                for metric in self._registry.collect()
                for sample in metric.samples
                if not sample.name.endswith("_created")
            }
            with self._redis.pipeline() as pipeline:
                for name, value in values.items():
                    if added := value - self._added.get(name, 0.0):
                        pipeline.hincrbyfloat(_KEY, name, added)
                pipeline.execute()
            self._added = values


class _Sums(Collector):
    """The metrics of this process with the values of all."""

    def __init__(self, metrics: list[Metric], values: dict[str, float]) -> None:
        self._metrics = metrics
        self._values = values

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with all its samples, those of a histogram in the order of their bounds."""
        for metric in self._metrics:
            summed = Metric(metric.name, metric.documentation, metric.type)
            names = {f"{metric.name}{ending}" for ending in ("_total", "_bucket", "_count", "_sum")}
            samples = [(*json.loads(field), value) for field, value in self._values.items()]
            for name, labels, value in sorted(
                samples, key=lambda sample: (sample[0], _bound(sample[1]), str(sample[1]))
            ):
                if name in names:
                    summed.add_sample(name, labels, value)
            yield summed


def _field(name: str, labels: dict[str, str]) -> str:
    return json.dumps([name, labels], sort_keys=True)


def _bound(labels: dict[str, str]) -> float:
    """Return the upper bound of a bucket."""
    return float(labels.get("le", 0))
