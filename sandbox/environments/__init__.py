"""Packages that programs may ask for beside those of every sandbox: what an environment holds, and where it is built."""

from sandbox.environments.definition import (
    SHIPPED,
    Environment,
    EnvironmentFault,
    Pin,
    parse_environment,
    shipped,
)
from sandbox.environments.installation import IMAGE_PACKAGES, Installation
from sandbox.environments.lock import LockFailed, make_lock

__all__ = [
    "IMAGE_PACKAGES",
    "SHIPPED",
    "Environment",
    "EnvironmentFault",
    "Installation",
    "LockFailed",
    "Pin",
    "make_lock",
    "parse_environment",
    "shipped",
]
