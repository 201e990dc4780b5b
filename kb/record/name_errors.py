"""Answer an error about a name from the record: was it there, is it gone or newer, where is it now, who asks for it, what to install."""

from __future__ import annotations

from functools import lru_cache

from kb.record.internal_modules import is_internal, is_private, is_test
from kb.record.judgement import (
    candidate_records,
    judge,
    predates_the_record,
    records_offering,
    shown_release,
    shown_version,
)
from kb.record.name_answer import Facts, NameAnswer
from kb.record.packages import package_of_module
from kb.record.query import (
    PackageRecord,
    is_dotted_name,
    moved_to,
    open_record,
    outermost_module,
    unclear_releases,
    without_gaps,
)
from kb.record.standard_library import is_standard_name
from kb.text.name_questions import NameQuestion, read_name_error

__all__ = ["explain_missing_name", "explain_name_error"]

_MAX_CANDIDATES = 12
"""How many definitions of the same bare name are compared."""


def explain_name_error(error_type: str, message: str, facts: Facts | None = None) -> NameAnswer | None:
    """Return what the record says to an error about a missing name or argument, or None if it cannot tell.

    It never says that a name does not exist where the module makes names at run time.
    """
    question = read_name_error(error_type, message)
    if question is None:
        return None
    facts = facts or Facts()
    if question.kind in ("name", "module"):
        answer = _about_module(question, facts)
        return answer and _with_file(answer, question.file)
    if question.kind == "member":
        return _about_member(question, facts)
    from kb.record.argument_errors import explain_arguments

    return explain_arguments(question, facts)


def _with_file(answer: NameAnswer, file: str) -> NameAnswer:
    """Add the file that Python read, unless it is one of an installed package, or unless what is installed explains the error."""
    from kb.text.frames import is_library

    return answer._replace(file=file) if file and answer.verdict != "removed" and not is_library(file) else answer


def explain_missing_name(name: str) -> NameAnswer | None:
    """Return what the record says of a dotted name that no release has: where it is instead, or what is spelled like it."""
    owner = name.rpartition(".")[0]
    known = package_of_module(owner) if is_dotted_name(name) and owner else None
    record = open_record(known.name) if known else None
    if record is None or record.module(owner) is None:
        return None
    return _never(record, "name", name, Facts())


def _about_module(question: NameQuestion, facts: Facts) -> NameAnswer | None:
    """Answer for a module, or for a name of a module."""
    if question.kind == "module":
        owner, _, name = question.name.rpartition(".")
    else:
        owner, name = question.owner or _owner_in_code(question.name, facts), question.name
    known = package_of_module(owner) if owner else None
    record = open_record(known.name) if known else None
    if record is None:
        return None
    if question.kind == "module" and record.module(question.name) is None:
        return _missing_module(record, question.name, facts)
    qualified = f"{owner}.{name}"
    module = record.module(owner)
    submodule = record.module(qualified)
    row = record.row(module, name) if module else None
    mask = (without_gaps(module, row.mask) if module and row else 0) | (submodule.mask if submodule else 0)
    if question.kind == "module" and submodule is not None:
        mask = submodule.mask
    if not mask:
        return None if module is None else _never(record, question.kind, qualified, facts)
    if module is not None and question.kind == "name" and unclear_releases(record, module, name, mask):
        return None
    definition = record.resolve(owner, name) if row else None
    notice_row = definition.row if definition else row
    release = shown_release(record, facts)
    has_it = mask >> (len(record.versions) - 1 if release is None else release) & 1
    if has_it and question.is_partial:
        return NameAnswer(
            "circular", question.kind, record.package.name, qualified, version=shown_version(record, release)
        )
    if has_it and question.kind == "name" and submodule is not None and (row is None or row.kind == "m"):
        return NameAnswer(
            "submodule", question.kind, record.package.name, qualified, version=shown_version(record, release)
        )
    answer = judge(record, question.kind, qualified, mask, notice_row, facts)
    if answer is None or answer.verdict != "removed" or question.kind != "module" or answer.replacement:
        return answer
    return _with_places(record, answer, release, facts)


def _with_places(record: PackageRecord, answer: NameAnswer, release: int | None, facts: Facts) -> NameAnswer:
    """Add where a module that is gone is today: at the same path without one of its parts, or where the names are that the reader imports from it."""
    newest = len(record.versions) - 1 if release is None else release
    parts = answer.name.split(".")
    for left_out in range(1, len(parts) - 1):
        shorter = ".".join(parts[:left_out] + parts[left_out + 1 :])
        module = record.module(shorter)
        if module is not None and module.mask >> newest & 1:
            return answer._replace(replacement=shorter)
    names = [name for line in facts.code for name in _names_imported(line, answer.name)][:_MAX_IMPORTED]
    places = ((name, moved_to(record, f"{answer.name}.{name}", newest)) for name in dict.fromkeys(names))
    return answer._replace(found=tuple((name, modules) for name, modules in places if modules))


_MAX_IMPORTED = 4


def _names_imported(line: str, module: str) -> list[str]:
    """Return the names in `from module import …`."""
    before, _, names = line.partition(f"from {module} import ")
    if before.strip() or not names:
        return []
    return [name.split()[0] for name in names.strip(" ()\\").split(",") if name.split()]


def _missing_module(record: PackageRecord, name: str, facts: Facts) -> NameAnswer | None:
    """Answer for a module that no release has: its last part may be a name, or another module may have the same last part."""
    owner, _, last = name.rpartition(".")
    module = record.module(owner)
    if module is None:
        return None
    row = record.row(module, last)
    if row is not None and row.kind != "m":
        if unclear_releases(record, module, last, row.mask):
            return None
        return judge(record, "name", name, row.mask, row, facts)
    return _never(record, "module", name, facts)


def _about_member(question: NameQuestion, facts: Facts) -> NameAnswer | None:
    """Answer for an attribute of a class that some release had. An attribute that none had may be the reader's own."""
    class_name = question.owner.rpartition(".")[2]
    records = candidate_records(facts, question.owner if "." in question.owner else "")
    for record in records:
        if answer := _about_class(record, class_name, question.name, facts):
            return answer
    if facts.packages:
        return None
    others = records_offering(class_name, deepest=1)  # one that several packages have may as well be the reader's own
    return _about_class(others[0], class_name, question.name, facts) if len(others) == 1 else None


def _about_class(record: PackageRecord, class_name: str, member: str, facts: Facts) -> NameAnswer | None:
    """Answer for a member of a class of that name in the package."""
    for module in record.definitions(class_name)[:_MAX_CANDIDATES]:
        newest = 1 << (len(record.versions) - 1)
        public = outermost_module(record, module, class_name, newest)
        mask, row, unread = record.member(public, class_name, member)
        if not mask or record.may_inherit(module, class_name, member):
            continue
        answer = judge(record, "member", f"{public}.{class_name}.{member}", mask, row, facts, unread=unread)
        if answer is not None and answer.verdict in ("removed", "newer"):
            return answer
    return None


def _never(record: PackageRecord, kind: str, name: str, facts: Facts) -> NameAnswer | None:
    """Answer that no release that was read has the name there. Where the module makes names at run time that is no proof."""
    owner, _, last = name.rpartition(".")
    module = record.module(owner)
    assert module is not None
    release = shown_release(record, facts)
    if _is_left_out(record, name) or predates_the_record(record, facts):
        return None
    if kind == "module" and not record.is_wheel(release):
        return None  # extensions are compiled when the source archive is installed
    elsewhere = moved_to(record, name, release)
    nearest = _nearest(last, record.names(module))
    if module.dynamic and not elsewhere and not nearest:
        return None
    return NameAnswer(
        "unknown" if module.dynamic else "never",
        kind,
        record.package.name,
        name,
        version=shown_version(record, release),
        newest=record.lines[-1],
        moved_to=elsewhere,
        nearest=nearest,
    )


def _is_left_out(record: PackageRecord, name: str) -> bool:
    """Return whether the record leaves out names such as this one, so that it cannot say that a module lacks it."""
    owner, _, last = name.rpartition(".")
    is_unread = last.startswith("_") and not record.package.reads_private
    return is_unread or is_internal(name) or is_test(name) or is_private(owner) or is_standard_name(last)


def _nearest(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return up to three names that are spelled like the one that is missing, the nearest first. The first letter has to be right."""
    from difflib import get_close_matches

    pairs = _letter_pairs(name)
    similar = [
        (len(pairs & _letter_pairs(candidate)), candidate)
        for candidate in _by_first_letter(names).get(_first_letter(name), ())
        if abs(len(candidate) - len(name)) <= _MAX_LENGTH_DIFFERENCE
    ]
    nearest = sorted((pair for pair in similar if pair[0] * 2 >= len(pairs)), reverse=True)[:_MAX_SIMILAR]
    by_fold = {candidate.lower(): candidate for _, candidate in nearest}
    if name.lower() in by_fold:
        return (by_fold[name.lower()],)
    close = get_close_matches(name.lower(), list(by_fold), 3, 0.75)
    return tuple(by_fold[folded] for folded in close) or _beginning_alike(name, names)


def _beginning_alike(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the longest name with which the missing one begins: `LayerNorm` for `LayerNormalization`."""
    shorter = [other for other in _by_first_letter(names).get(_first_letter(name), ()) if len(other) >= _MIN_BEGINNING]
    return tuple(sorted((other for other in shorter if name.startswith(other)), key=len)[-1:])


_MIN_BEGINNING = 6


_MAX_LENGTH_DIFFERENCE, _MAX_SIMILAR = 3, 12


@lru_cache(maxsize=16)
def _by_first_letter(names: tuple[str, ...]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_first_letter(name), []).append(name)
    return groups


def _first_letter(name: str) -> str:
    return name.lstrip("_")[:1].lower()


@lru_cache(maxsize=8192)
def _letter_pairs(name: str) -> frozenset[str]:
    """Return the pairs of neighbouring letters: comparing them is far cheaper than the ratio of two sequences."""
    folded = name.lower()
    return frozenset(folded[start : start + 2] for start in range(len(folded) - 1))


def _owner_in_code(name: str, facts: Facts) -> str:
    """Return the module in `from module import name` on a line of the stack, for messages of Python before 3.7."""
    import re

    for line in facts.code:
        imported = re.match(rf"\s*from ([\w.]+) import .*\b{re.escape(name)}\b", line)
        if imported:
            return imported[1]
    return ""
