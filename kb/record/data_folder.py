"""Where the files of the record are. Every look-up of a name needs this module, so it imports nothing that is slow."""

from __future__ import annotations

import os

__all__ = ["data_folder", "record_path"]


def data_folder() -> str:
    """Return the folder of the record: KB_RECORD, else the one that ships."""
    return os.environ.get("KB_RECORD") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def record_path(package: str) -> str:
    """Return the path of a package's file, whether or not it exists."""
    return os.path.join(data_folder(), f"{package}.kbr")
