"""Modules of which the record keeps less: copies of other libraries, stand-ins for absent packages, tests, private subpackages."""

from __future__ import annotations

from kb.startup.lazy_regex import lazy_pattern

__all__ = ["is_internal", "is_private", "is_test"]

_INTERNAL = lazy_pattern(
    r"\.(?:_vendor|_vendored|third_party|_external)\.|\.externals\.array_api|\._lib\.(?:array_api|pyprima|cobyqa|_?highs|unuran)|\.dummy_\w+_objects\."
)
_TEST = lazy_pattern(
    r"(?:^|[/.])(?:tests?|testing[/.]_internal|examples?|benchmarks|conftest|__pycache__)(?:[/.]|$)|_test(?:\.py)?$|[/.]test_[^/.]*(?:\.py)?$"
)


def is_internal(module: str) -> bool:
    """Return whether a module is a copy of another library or a stand-in for objects of an absent package. The record leaves it out."""
    return bool(_INTERNAL.search(module + "."))


def is_test(module: str) -> bool:
    """Return whether a module, or a path with slashes, belongs to tests, examples or benchmarks. The record leaves it out."""
    return bool(_TEST.search(module))


def is_private(module: str) -> bool:
    """Return whether a module is inside a private subpackage such as `torch._inductor`. The record leaves out its imports and the members of its classes."""
    return any(part.startswith("_") and part != "_C" for part in module.split(".")[1:-1])
