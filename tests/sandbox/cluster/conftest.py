"""A Redis of the test's own, and workers that take from it."""

import pytest

from tests.redis_server import WorkerProcess


@pytest.fixture
def make_worker(broker, tmp_path):
    workers = []

    def make(*options, url=broker.url):
        workers.append(WorkerProcess(url, tmp_path / f"worker-{len(workers)}.log", *options))
        return workers[-1]

    yield make
    for worker in workers:
        worker.stop()
