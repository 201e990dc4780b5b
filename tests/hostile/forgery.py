"""What a forgery is: an entry whose programs only look as if they proved it, and what has to refuse it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MESSAGE = "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"
TEMPLATE = (
    "The size of tensor a ({a:int}) must match the size of tensor b ({b:int}) at non-singleton dimension {dim:int}"
)
HONEST_REPRO = "import torch\n\ntotal = torch.ones(3) + torch.ones(4)\n"
HONEST_FIX = "import torch\n\ntotal = torch.ones(4) + torch.ones(4)\nassert total.shape == (4,)\n"
SILENT_REPRO = "import torch\n\ntotal = torch.ones(3)\nassert total.shape == (4,)\n"
SILENT_FIX = "import torch\n\ntotal = torch.ones(4)\nassert total.shape == (4,)\n"
WARNING = "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone()"
WARNING_TEMPLATE = (
    WARNING + " or sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
)
WARNING_REPRO = "import torch\n\nx = torch.ones(2)\ny = torch.tensor(x)\n"
WARNING_FIX = "import torch\n\nx = torch.ones(2)\ny = x.clone()\nassert y.sum() == 2\n"

Kind = Literal["error", "warning", "silent"]


@dataclass(frozen=True)
class Forgery:
    """One forged entry. `passes` says why nothing refuses it; `template` is its message where that is another than the usual one."""

    name: str
    claims: str
    kind: Kind
    repro: str
    fix: str
    passes: str = ""
    template: str = ""

    @property
    def message(self) -> str:
        """The message of the entry."""
        if self.template:
            return self.template
        return f"UserWarning: {WARNING_TEMPLATE}" if self.kind == "warning" else f"RuntimeError: {TEMPLATE}"


def error(name: str, claims: str, *, repro: str = HONEST_REPRO, fix: str = HONEST_FIX, **more: object) -> Forgery:
    """A forged entry about an error."""
    return Forgery(name, claims, "error", repro, fix, **more)  # type: ignore[arg-type]


def silent(name: str, claims: str, *, repro: str = SILENT_REPRO, fix: str = SILENT_FIX, **more: object) -> Forgery:
    """A forged entry about a silent pitfall."""
    return Forgery(name, claims, "silent", repro, fix, **more)  # type: ignore[arg-type]


def warning(name: str, claims: str, *, repro: str = WARNING_REPRO, fix: str = WARNING_FIX, **more: object) -> Forgery:
    """A forged entry about a warning."""
    return Forgery(name, claims, "warning", repro, fix, **more)  # type: ignore[arg-type]
