"""Workers that take from a Redis of the test's own."""

import pytest

from tests.redis_server import WorkerProcess


@pytest.fixture
def make_worker(broker, tmp_path):
    """Starts a worker; `ready=False` does not wait until it answers."""
    workers = []

    def make(*options, ready=True):
        workers.append(WorkerProcess(broker.url, tmp_path / f"worker-{len(workers)}.log", *options))
        if ready:
            broker.await_workers(*workers)
        return workers[-1]

    yield make
    for worker in workers:
        worker.stop()
