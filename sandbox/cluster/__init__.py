"""Runs programs on other machines: Celery carries batches to workers, Redis is broker and result store.

`run` takes what `sandbox.run` takes and returns what it returns; `offers` says what for. `start_worker` is the other end. Needs the extra `[cluster]`.
"""

from sandbox.cluster.app import Queue
from sandbox.cluster.client import ClusterError, offers, run
from sandbox.cluster.worker import WorkerSettings, is_alive, start_worker

__all__ = ["ClusterError", "Queue", "WorkerSettings", "is_alive", "offers", "run", "start_worker"]
