"""The attributes of tensors and modules, by which `'list' object has no attribute 'unsqueeze'` shows what was expected in the list's place.

`python -m kb.templates.attributes > kb/templates/data/attributes.txt` writes the list anew from the torch that is installed.
"""

from __future__ import annotations

from functools import cache

__all__ = ["MODULE", "TENSOR", "is_attribute", "is_of_pytorch_alone"]

TENSOR, MODULE, NUMPY = "tensor", "module", "numpy"
"""Whose attribute it is; `NUMPY` says that NumPy has it as well, as an attribute of arrays or as a function."""


def is_attribute(owner: str, name: str) -> bool:
    """Return whether tensors (`TENSOR`) or modules (`MODULE`) have the attribute, given in lower case, and no type of Python's own has it."""
    return owner in _owners().get(name, ())


def is_of_pytorch_alone(name: str) -> bool:
    """Return whether tensors or modules have the attribute and NumPy has not."""
    owners = _owners().get(name, frozenset())
    return bool(owners) and NUMPY not in owners


@cache
def _owners() -> dict[str, frozenset[str]]:
    from pathlib import Path  # imported late, because most look-ups need no attributes

    lines = (Path(__file__).parent / "data/attributes.txt").read_text("utf-8").splitlines()
    return {name: frozenset(owners) for name, *owners in map(str.split, lines)}


def _lines() -> list[str]:
    """Return the lines of the list for the torch and NumPy that are installed."""
    import numpy as np
    import torch

    own = (str, bytes, bytearray, list, tuple, dict, set, int, float, complex, range, type)
    builtin = {name.lower() for type_ in own for name in dir(type_)}
    functions = [name for name in dir(np) if callable(getattr(np, name)) and not isinstance(getattr(np, name), type)]
    of = {TENSOR: dir(torch.Tensor), MODULE: dir(torch.nn.Module), NUMPY: [*dir(np.ndarray), *functions]}
    names = {owner: {name.lower() for name in has if name[0] != "_"} - builtin for owner, has in of.items()}
    listed = sorted(names[TENSOR] | names[MODULE])
    return [" ".join([name, *(owner for owner in of if name in names[owner])]) for name in listed]


if __name__ == "__main__":
    import sys

    sys.stdout.writelines(f"{line}\n" for line in _lines())
