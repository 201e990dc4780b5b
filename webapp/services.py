"""What the application is made of besides its routes: created once by `create_app`, reached by the views through `services()`.

Each part has a small interface, so that it can be kept elsewhere (such as in Redis, for several machines) without a change in the views.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from flask import current_app

from webapp.feedback import FeedbackStore
from webapp.limiting import RateLimiter
from webapp.metrics import Metrics
from webapp.snapshot import Snapshot, SnapshotSource

if TYPE_CHECKING:
    from webapp.jobs import JobQueue

__all__ = ["EXTENSION", "Services", "current_snapshot", "services"]

EXTENSION = "kb"
"""The key of `app.extensions`."""


@dataclass(frozen=True, slots=True)
class Services:
    """`feedback` is None where the operator keeps none, `jobs` where readers may not run programs."""

    snapshots: SnapshotSource
    limiter: RateLimiter
    metrics: Metrics
    feedback: FeedbackStore | None = None
    jobs: JobQueue | None = None


def services() -> Services:
    """Return the services of the current application."""
    return cast(Services, current_app.extensions[EXTENSION])


def current_snapshot() -> Snapshot:
    """Return the snapshot of the entries to answer from."""
    return services().snapshots.current()
