"""The environments of this machine: where they are built, which of them are, and which one a case or a check runs in."""

from __future__ import annotations

from pathlib import Path

import sandbox
from kb.corpus.entry import Runnable
from kb.corpus.environments import environment_for
from kb.corpus.paths import cache_root
from sandbox.builds import is_built
from sandbox.environments import Environment, Installation

__all__ = ["NotBuilt", "installation", "not_built", "required_installation"]


def installation(environment: Environment) -> Installation:
    """Return where an environment is built: in the user's cache folder, shared by all entries."""
    return Installation(environment, Path(cache_root()) / "environments")


def required_installation(subject: Runnable, backend: str) -> Installation | None:
    """Return where the packages are that a case or a check requires; None where it requires nothing, or its folder names an image.

    Raises `NotBuilt`, with what to do, when they are not there for this backend.
    """
    if not subject.requires or subject.image:
        return None
    environment = environment_for(subject)
    if environment is None:
        raise NotBuilt(f"no environment has {', '.join(subject.requires)}")
    place = installation(environment)
    if not is_built(place, backend):
        raise NotBuilt(not_built(environment))
    return place


def not_built(environment: Environment) -> str:
    """Return the words for an environment that is not built here."""
    return f"the environment {environment.name} is not built; kb env build {environment.name} builds it"


class NotBuilt(sandbox.SandboxError):
    """What a case or a check requires is not on this machine; the text says what to do."""
