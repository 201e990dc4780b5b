"""Answer complaints about versions: pip's, those of packages about torch, and undefined symbols in extensions."""

from __future__ import annotations

import re
from itertools import islice

from kb.record.name_answer import Facts
from kb.record.packages import PACKAGES, package_of_module
from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple

__all__ = ["RequirementAnswer", "explain_requirement_error"]

_VERSION = r"[\w.!+*-]{1,40}"
_INCOMPATIBLE = lazy_pattern(
    rf"(?P<package>[\w.-]{{1,60}}) (?P<version>{_VERSION}) (?:requires|depends on|has requirement) (?P<needed>[\w.-]{{1,60}})"
    rf"(?P<specifier>[^,;\s][^;\n]{{0,60}}?)?,? (?:but )?you(?:'ll)? have (?P<other>[\w.-]{{1,60}}) (?P<installed>{_VERSION})"
)
_NEEDED = lazy_pattern(
    rf"(?P<needed>[\w.-]{{1,60}})(?P<specifier>[<>=!~][^\s;]{{1,60}}) is required for a normal functioning of this module, "
    rf"but found (?P<other>[\w.-]{{1,60}})==(?P<installed>{_VERSION})"
)
"""What transformers says when it is imported beside another release than it wants."""

_NOT_FOUND = lazy_pattern(
    r"No matching distribution found for (?P<requirement>[\w.-]{1,60}\s?(?:[=<>~!]=?[^\s;,]{1,40})?)"
)
_BUILT_FOR = lazy_pattern(
    r"(?:built for|compiled (?:with|for|against)).{0,40}?(?:PyTorch|torch)[ =:]{1,3}(?P<built>\d+\.\d+(?:\.\d+)?)"
    r".{0,80}?you have (?P<have>\d+\.\d+(?:\.\d+)?)",
    re.IGNORECASE | re.DOTALL,
)
_UNDEFINED = lazy_pattern(r"(?P<path>[^\s:'\"]{1,200}\.so)[^\n]{0,20}: undefined symbol: (?P<symbol>\w{1,200})")


_MAX_MESSAGE, _MAX_COMPLAINTS = 4_000, 8


class RequirementAnswer(NamedTuple):
    """Releases to install so that packages fit together.

    `kind` is conflict, not-found, built-for or undefined-symbol. `keep` is what the reader has, `install` are requirements that fit it, the newest
    first, and `instead` what would fit the other package as it is. `pythons` are the Python versions with wheels for what was not found.
    """

    kind: str
    package: str
    keep: str
    install: tuple[str, ...]
    instead: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()


def explain_requirement_error(message: str, facts: Facts | None = None) -> RequirementAnswer | None:
    """Return which releases fit together where a message complains that some do not, or None if the record cannot tell."""
    facts = facts or Facts()
    message = message[:_MAX_MESSAGE]
    for conflict in islice(_INCOMPATIBLE.finditer(message), _MAX_COMPLAINTS):
        if answer := _conflict(*conflict.group("package", "version", "other", "installed")):
            return answer
    if needed := _NEEDED.search(message):
        return _needed(*needed.group("needed", "specifier", "installed"))
    if missing := _NOT_FOUND.search(message):
        return _not_found(missing["requirement"])
    if (built := _BUILT_FOR.search(message)) and (package := _extension(message, facts)):
        return _against_torch("built-for", package, built["have"])
    if undefined := _UNDEFINED.search(message):
        package = _extension(undefined["path"], facts)
        version = facts.versions.get("torch", "")
        return _against_torch("undefined-symbol", package, version) if package and version else None
    return None


def _conflict(package: str, version: str, needed: str, installed: str) -> RequirementAnswer | None:
    """Answer that `package` wants another release of `other` than the one that is installed."""
    first, second = _normalized(package), _normalized(needed)
    if first not in PACKAGES or second not in PACKAGES or ".dev" in version + installed:
        return None
    keep = f"{second}=={_public(installed)}"
    install = _fitting([keep, first], first)
    instead = _fitting([f"{first}=={_public(version)}", second], second)
    return RequirementAnswer("conflict", first, keep, install, instead) if install or instead else None


def _needed(needed: str, specifier: str, installed: str) -> RequirementAnswer | None:
    """Answer that transformers wants another release of a package: the newest that it takes, and releases of transformers that take the present one.

    Programs borrow its words to ask for a release of transformers itself: then the message says all.
    """
    name = _normalized(needed)
    if name not in PACKAGES or name == "transformers":
        return None
    keep = f"{name}=={_public(installed)}"
    instead = _fitting([f"{name}{specifier.rstrip('.')}"], name)[:1]
    bounded = (release for release in _fitting([keep, "transformers"], "transformers") if _has_limit(release, name))
    install = tuple(bounded)
    return RequirementAnswer("conflict", "transformers", keep, install, instead) if install or instead else None


def _has_limit(release: str, package: str) -> bool:
    """Return whether a release says up to which version it takes a package. One that does not was written before that version."""
    from packaging.requirements import Requirement

    from kb.record.requirements import requirements_of

    name, _, version = release.partition("==")
    requirements = map(Requirement, requirements_of(name)[version].requires)
    mine = [requirement for requirement in requirements if _normalized(requirement.name) == package]
    return any(part.operator in ("<", "<=", "==", "~=") for requirement in mine for part in requirement.specifier)


def _not_found(requirement: str) -> RequirementAnswer | None:
    """Answer that pip finds no release: which Pythons have wheels for it."""
    from kb.record.compatibility import UnknownPackageError, fits

    try:
        sets = fits([requirement.strip()])
    except UnknownPackageError:
        return None
    if not sets or not sets[0].pythons:
        return None
    name = next(iter(sets[0].versions))
    return RequirementAnswer(
        "not-found", name, requirement.strip(), (f"{name}=={sets[0].versions[name]}",), pythons=sets[0].pythons
    )


def _against_torch(kind: str, package: str, version: str) -> RequirementAnswer | None:
    keep = f"torch=={_public(version)}"
    install = _fitting([keep, package], package)
    return RequirementAnswer(kind, package, keep, install) if install else None


def _fitting(requirements: list[str], wanted: str) -> tuple[str, ...]:
    """Return the releases of `wanted` that fit the rest. If the newest is pinned to the rest, one without a bound is no evidence and is left out."""
    from kb.record.compatibility import UnknownPackageError, fits, is_pinned

    try:
        sets = fits(requirements)
    except UnknownPackageError:
        return ()
    pinned = [fitting for fitting in sets if is_pinned(fitting.versions)]
    sets = tuple(pinned) if sets and sets[0] in pinned else sets
    return tuple(dict.fromkeys(f"{wanted}=={fitting.versions[wanted]}" for fitting in sets))


def _extension(text: str, facts: Facts) -> str:
    """Return the package whose compiled library a text names: its folder, else the innermost package on the stack that is not torch."""
    tops = re.findall(r"(?:site|dist)-packages[\\/](\w+)", text) or [
        word for word in re.findall(r"\w+", text.lower()) if package_of_module(word)
    ]
    for top in (*tops, *facts.packages):
        known = package_of_module(top)
        if known is not None and known.name != "torch":
            return known.name
    return ""


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _public(version: str) -> str:
    return version.partition("+")[0].rstrip(".")
