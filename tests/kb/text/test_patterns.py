"""No pattern that reads a paste can be made to backtrack without bound."""

import importlib
import pkgutil
import re
from re import _constants as codes
from re import _parser as parser

import pytest

import kb.text
from kb.startup.lazy_regex import lazy_pattern

MODULES = [
    *(f"kb.text.{module.name}" for module in pkgutil.iter_modules(kb.text.__path__)),
    "kb.search.out_of_scope",
    "kb.search.query",
]
REPETITIONS = (codes.MAX_REPEAT, codes.MIN_REPEAT)
MAX_REACH = 30_000
"""Upper bound for the product of the bounds of nested repetitions."""


def patterns_in(value):
    """Yield the source and flags of the patterns in a module's global, also inside tuples."""
    if isinstance(value, re.Pattern):
        yield value.pattern, value.flags
    elif isinstance(value, type(lazy_pattern(""))):
        yield value._source, value._flags
    elif isinstance(value, tuple):
        for item in value:
            yield from patterns_in(item)


PATTERNS = sorted(
    {
        (name.rpartition(".")[2], variable, *pattern)
        for name in MODULES
        for variable, value in vars(importlib.import_module(name)).items()
        for pattern in patterns_in(value)
        if getattr(importlib.import_module(name), "__name__", "") == name
    }
)


def reach(items, outer=1):
    """Return the largest product of bounds of nested repetitions that can give back what they read."""
    largest = outer
    for operation, argument in items:
        if operation in REPETITIONS:
            _, most, inner = argument
            largest = max(largest, reach(inner, float("inf") if most == codes.MAXREPEAT else outer * max(1, int(most))))
        elif operation is codes.SUBPATTERN:
            largest = max(largest, reach(argument[-1], outer))
        elif operation is codes.BRANCH:
            largest = max(largest, *(reach(branch, outer) for branch in argument[1]))
        elif operation in (codes.ASSERT, codes.ASSERT_NOT):
            largest = max(largest, reach(argument[1], outer))
        elif operation is codes.ATOMIC_GROUP:
            largest = max(largest, reach_inside(argument, outer))
        elif operation is codes.POSSESSIVE_REPEAT:
            largest = max(largest, reach_inside(argument[2], outer))
    return largest


def reach_inside(items, outer):
    """Return the reach of what is never given back once it was read: only repetitions inside repetitions count."""
    return max([outer, *(reach(inner, outer) for operation, (_, _, inner) in pairs(items) if operation in REPETITIONS)])


def pairs(items):
    return [(operation, argument) for operation, argument in items if operation in REPETITIONS]


def test_there_are_patterns_of_many_modules():
    assert len({module for module, *_ in PATTERNS}) >= 10


@pytest.mark.parametrize(("module", "variable", "source", "flags"), PATTERNS, ids=lambda part: str(part)[:24])
def test_every_repetition_is_possessive_atomic_or_bounded(module, variable, source, flags):
    assert reach(parser.parse(source, flags)) <= MAX_REACH, f"{variable} in {module}.py: {source}"


@pytest.mark.parametrize("source", [r"a*", r"(?:a{0,9}b)+c", r"(?:a{0,900}b){0,900}", r"(?>(?:a+b)*)", r"(?=a*b)"])
def test_the_check_finds_repetitions_without_bound(source):
    assert reach(parser.parse(source)) > MAX_REACH


@pytest.mark.parametrize("source", [r"a*+", r"(?>a*)", r"(?:a{0,90}b){0,90}", r"(?>(?:a++b)*)"])
def test_the_check_accepts_what_never_backtracks_far(source):
    assert reach(parser.parse(source)) <= MAX_REACH
