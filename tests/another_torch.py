"""A release of torch that there is not yet, as a wheel of one short module: an environment with it takes seconds and no network."""

from pathlib import Path

from tests.entry_factory import Programs
from tests.tiny_environment import write_wheel

RELEASE = "9.9.0"
MESSAGES = ["RuntimeError: this torch refuses a size of {size:int}"]
SOURCE = f"""
__version__ = "{RELEASE}+cpu"


def manual_seed(seed): ...
def set_num_threads(count): ...


def ones(size):
    if size % 2:
        raise RuntimeError(f"this torch refuses a size of {{size}}")
    return [1] * size
"""
CASE = Programs(
    attributes="torch>=9.0",
    repro="import torch\n\ntorch.ones(3)\n",
    fix="import torch\n\nassert len(torch.ones(4)) == 4\n",
)


def offer(tmp_path: Path, monkeypatch) -> None:
    """Have pip find this release, and nothing else, in a folder; environments are made below `tmp_path`."""
    folder = tmp_path / "wheels"
    write_wheel(folder, RELEASE, name="torch", module="torch", source=SOURCE)
    for name in ("numpy", "setuptools"):
        write_wheel(folder, "70.0", name=name, module=name, source="")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("KB_CACHE", str(tmp_path / "cache"))
