"""The cases and checks of an entry: its fenced programs below the headings of `## Run it`, and what they need to run."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import Any

from kb.corpus.diagnostic import Diagnostics
from kb.corpus.entry import DEVICES, Block, Case, Check, is_slug
from kb.corpus.sections import Fence, read_case_headings, read_fences, run_it_line

__all__ = ["read_programs"]

_ROLES = ("repro", "fix", "check")
_SIZE = re.compile(r"([0-9]{1,6})([kmg])")
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_BOUND = r"(?:(?:[<>]=?|==)[0-9]+\.[0-9]+(?:\.[0-9]+)?|!=[0-9]+\.[0-9]+\.\*)"
_ATTRIBUTES = {
    "torch": (
        "a range of versions such as torch>=2.3, torch>=2.0,<2.6 or torch!=2.1.*",
        re.compile(rf"{_BOUND}(?:,{_BOUND})?"),
    ),
    "build": ("cpu", re.compile("cpu")),
    "device": (", ".join(DEVICES), re.compile("|".join(DEVICES))),
    "gpus": ("a number of GPUs", re.compile("[1-9]")),
    "os": ("windows, macos", re.compile("windows|macos")),
    "shm": ("an amount such as 1m", _SIZE),
    "memory": ("an amount such as 512m", _SIZE),
    "timeout": ("seconds", re.compile("[1-9][0-9]{0,2}")),
    "fresh": ("true", re.compile("true")),
}
"""What a fence's info string may say: for each attribute the values that it takes, in words and as a pattern."""

_Programs = dict[str, tuple[Block, dict[str, str]]]
"""The programs below one heading by role, with the attributes of their fences."""


def read_programs(
    slug: str, lines: list[str], start: int, diagnostics: Diagnostics
) -> tuple[tuple[Case, ...], tuple[Check, ...]]:
    """Return the cases and checks of the entry `slug`; `start` is the index of the first line after the front matter.

    Each heading below `## Run it` names a case, with a repro and a fix, or a check.
    """
    run_it = run_it_line(lines)
    fences = [fence for fence in read_fences(lines, start, diagnostics) if fence.line > run_it]
    fence_lines = [fence.line for fence in fences]
    headings = read_case_headings(lines)
    if not headings and run_it < len(lines):
        diagnostics.add(run_it, "KB009", "no case under 'Run it'; add a heading ### name with ```python repro and fix")
    cases, checks = [], []
    seen: set[str] = set()
    for (line, name), (end, _) in pairwise([*headings, (len(lines) + 1, "")]):
        if not is_slug(name) or name in seen:
            what = (
                "is there twice; give the cases different names"
                if name in seen
                else "is no name; use words-with-hyphens"
            )
            diagnostics.add(line, "KB009", f"the heading {name[:80]!r} {what}")
            continue
        seen.add(name)
        own = fences[bisect_right(fence_lines, line) : bisect_left(fence_lines, end)]
        programs = _read_roles(own, diagnostics)
        needs: dict[str, Any] = {"entry": slug, "name": name}
        for _, attributes in programs.values():
            needs |= _needs(attributes)
        if set(programs) == {"repro", "fix"}:
            cases.append(Case(**needs, repro=programs["repro"][0], fix=programs["fix"][0]))
        elif set(programs) == {"check"}:
            checks.append(Check(**needs, program=programs["check"][0]))
        else:
            has = " and ".join(programs) or "nothing"
            diagnostics.add(line, "KB009", f"the case {name!r} has {has}; it needs a repro and a fix, or one check")
    for fence in fences:
        if not headings or fence.line < headings[0][0]:
            diagnostics.add(fence.line, "KB009", "this block belongs to no case; put a heading ### name above it")
    return tuple(cases), tuple(checks)


def _read_roles(fences: list[Fence], diagnostics: Diagnostics) -> _Programs:
    programs: _Programs = {}
    for fence in fences:
        role, *attributes = fence.info.split() or [""]
        if fence.language != "python" or role not in _ROLES:
            what = "a block under 'Run it' is ```python repro, ```python fix or ```python check"
            diagnostics.add(fence.line, "KB008", f"{what}; move other text above")
            continue
        if role in programs:
            diagnostics.add(fence.line, "KB009", f"a second {role}; give it a case of its own")
            continue
        programs[role] = Block(fence.source, fence.line + 1), _read_attributes(attributes, fence.line, diagnostics)
    return programs


def _read_attributes(words: list[str], line: int, diagnostics: Diagnostics) -> dict[str, str]:
    attributes = {}
    for word in words:
        key, value = _key_and_value(word)
        if key not in _ATTRIBUTES:
            diagnostics.add(line, "KB008", f"unknown attribute {key[:40]!r}; there are {', '.join(_ATTRIBUTES)}")
        elif not _ATTRIBUTES[key][1].fullmatch(value):
            diagnostics.add(line, "KB008", f"{word[:60]}: {key} takes {_ATTRIBUTES[key][0]}")
        else:
            attributes[key] = value
    return attributes


def _key_and_value(word: str) -> tuple[str, str]:
    """Return the two parts of an attribute. A range of versions is written as pip writes it: in `torch>=2.3` the sign belongs to the value."""
    if match := re.match("torch(?=[<>=!])", word):
        return match[0], word[match.end() :]
    key, _, value = word.partition("=")
    return key, value


def _needs(attributes: dict[str, str]) -> dict[str, Any]:
    """Return the fields of a program that the attributes set; a number of GPUs implies the device."""
    needs: dict[str, Any] = {key: attributes[key] for key in ("torch", "build", "device", "os") if key in attributes}
    if "gpus" in attributes:
        needs |= {"gpus": int(attributes["gpus"]), "device": "cuda"}
    needs |= {key: _bytes(attributes[key]) for key in ("shm", "memory") if key in attributes}
    if "timeout" in attributes:
        needs["timeout"] = float(attributes["timeout"])
    if "fresh" in attributes:
        needs["fresh"] = True
    return needs


def _bytes(amount: str) -> int | None:
    match = _SIZE.fullmatch(amount)
    return int(match[1]) * _UNITS[match[2]] if match else None
