"""What a verification returns: a verdict for each case and check, and where they ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import sandbox
from kb.corpus.entry import Role, Runnable

__all__ = ["Environment", "Fault", "Run", "Verdict"]

Fault = tuple[int, str]
"""A line of the entry's file, and what is wrong there."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where the programs ran: torch's version as it names itself, the sandbox's backend, the GPU if there was one, and the versions of required packages."""

    torch: str
    backend: str
    gpu: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """What a person reads: `torch 2.13.0+cpu, peft 0.21.2 in docker`."""
        versions = [f"torch {self.torch}", *(f"{name} {version}" for name, version in self.packages.items())]
        return f"{', '.join(versions)} in {self.backend}" + (f" on {self.gpu}" if self.gpu else "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a case or a check came out.

    `faults` say what is wrong, `reason` says why it was not run here, `outcomes` say by role how its programs ended, and
    `environment` says where they ran. `attempts` is 2 where it failed beside others and then ran again alone.
    """

    subject: Runnable
    outcome: Literal["passed", "failed", "not run here"]
    faults: tuple[Fault, ...] = ()
    reason: str = ""
    outcomes: Mapping[Role, sandbox.Outcome] = field(default_factory=dict)
    environment: Environment | None = None
    attempts: int = 1

    @property
    def seconds(self) -> float:
        """The time that the programs took together."""
        return sum(outcome.seconds for outcome in self.outcomes.values())


@dataclass(frozen=True, slots=True)
class Run:
    """A whole verification: its verdicts in the order of the cases and checks, and where it ran; None when nothing could run.

    Where it ran is where the first of them ran, with the packages of all.
    """

    verdicts: tuple[Verdict, ...]
    environment: Environment | None
    complete: bool = True

    @property
    def proved(self) -> bool:
        """Whether at least one case or check passed and none failed; a run that proved nothing is a failure."""
        outcomes = [verdict.outcome for verdict in self.verdicts]
        return self.complete and "passed" in outcomes and "failed" not in outcomes
