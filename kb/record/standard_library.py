"""Names that nearly every module imports from Python itself: nobody looks for them there, so the record leaves them out."""

from __future__ import annotations

from kb.record.rows import IMPORT, MODULE

__all__ = ["is_plain_import", "is_standard_name"]

_MODULES = frozenset(
    (
        "abc argparse ast asyncio atexit base64 bisect builtins collections contextlib copy csv ctypes dataclasses datetime enum errno fnmatch functools "
        "gc glob gzip hashlib heapq importlib inspect io itertools json logging math multiprocessing numbers operator os pathlib pickle platform pprint "
        "queue random re shutil signal socket string struct subprocess sys tarfile tempfile textwrap threading time traceback types typing unittest urllib "
        "uuid warnings weakref zipfile"
    ).split()
)
_ORIGINS = frozenset(
    "__future__ abc collections collections.abc contextlib copy dataclasses enum functools pathlib typing typing_extensions".split()
)
_TYPING_EXTENSIONS = frozenset(
    "Buffer CapsuleType Doc Format IntVar NoDefault ReadOnly Sentinel TypeAliasType TypeForm TypeIs deprecated disjoint_base evaluate_forward_ref "
    "get_annotations get_original_bases is_protocol override runtime type_repr".split()
)
"""What `typing_extensions` has and `typing` of some supported Python does not."""


def is_plain_import(name: str, kind: str, target: str) -> bool:
    """Return whether a name is Python's own under its own name: `import os`, `from typing import Optional`.

    Under another name it is recorded, because others may use it: `import collections.abc as container_abcs` in `torch._six`.
    """
    if kind == MODULE:
        return target == name and name in _MODULES
    origin, colon, imported = target.partition(":")
    return kind == IMPORT and bool(colon) and imported == name and origin in _ORIGINS


def is_standard_name(name: str) -> bool:
    """Return whether a name may be one that `is_plain_import` left out, so that the record cannot say that a module lacks it."""
    from importlib import import_module

    return (
        name in _MODULES
        or name in _TYPING_EXTENSIONS
        or any(hasattr(import_module(origin), name) for origin in _ORIGINS if origin != "typing_extensions")
    )
