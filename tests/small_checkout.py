"""A checkout with the entries of a few topics: a process that starts there builds its index in seconds."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import REPOSITORY


def link_checkout(folder: Path, topics: Sequence[str]) -> Path:
    """Make `folder` a checkout of the project's own packages, to be set as PYTHONPATH, with the entries of these topics, and return it."""
    (folder / "entries").mkdir(parents=True)
    for package in ("kb", "sandbox", "webapp"):
        (folder / package).symlink_to(REPOSITORY / package)
    for topic in topics:
        shutil.copytree(REPOSITORY / "entries" / topic, folder / "entries" / topic)
    return folder
