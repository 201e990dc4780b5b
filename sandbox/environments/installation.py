"""Where the packages of an environment are once it is built: a folder for interpreters of this machine, an image for containers."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from sandbox.environments.definition import Environment

__all__ = ["IMAGE_PACKAGES", "Installation"]

IMAGE_PACKAGES = "/opt/environment"
"""Where an image has the packages."""


@dataclass(frozen=True)
class Installation:
    """An environment, and the folder below which it is built."""

    environment: Environment
    store: Path

    def folder(self, python: str = "") -> Path:
        """Return the folder for a version of Python, such as `3.11.2`; for this interpreter's where none is given."""
        major, minor = python.split(".")[:2] if python else map(str, sys.version_info[:2])
        return self.store / f"{self.environment.label}-cp{major}{minor}"

    def packages(self, python: str = "") -> Path:
        """Return the folder from which programs import; it is there when the environment is built."""
        return self.folder(python) / "packages"

    def image(self, core: str) -> str:
        """Return the name of the image that is made from the image with this id."""
        digest = hashlib.sha256(f"{self.environment.digest} {core}".encode()).hexdigest()[:12]
        return f"kb-sandbox-{self.environment.name}:{digest}"
