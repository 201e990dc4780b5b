"""The whole history of one name, as `kb api` and its page show it: since, until, deprecated, moved to, parameters."""

from __future__ import annotations

from kb.record.packages import PACKAGES, package_of_module
from kb.record.query import (
    PackageRecord,
    is_dotted_name,
    moved_to,
    open_record,
    split_name,
    unclear_releases,
    without_gaps,
)
from kb.record.ranges import VersionRange
from kb.record.rows import NameRow
from kb.startup.named_tuple import NamedTuple

__all__ = ["NameHistory", "ParameterHistory", "name_history"]


class ParameterHistory(NamedTuple):
    """The releases in which a callable has the parameter."""

    name: str
    ranges: tuple[VersionRange, ...]


class NameHistory(NamedTuple):
    """What the record knows of a name.

    `versions` are the releases that were read, by their minor version. `kind` is one of class, function, variable, module. `defined_in` is the module
    that defines the name in the newest release that has it. `moved_to` lists modules where the name is in the newest release, if it is gone here.
    `removed` are the releases in which it does nothing but raise `removal`.
    `is_dynamic` says that the module makes names at run time, or imports some that the record leaves out, so that the record may not see all of them.
    """

    package: str
    name: str
    kind: str
    versions: tuple[str, ...]
    ranges: tuple[VersionRange, ...]
    defined_in: str
    deprecated: tuple[VersionRange, ...]
    notice: str
    removed: tuple[VersionRange, ...]
    removal: str
    replacement: str
    replacement_source: str
    moved_to: tuple[str, ...]
    parameters: tuple[ParameterHistory, ...]
    is_dynamic: bool


def name_history(qualified_name: str, package: str | None = None) -> NameHistory | None:
    """Return the history of `package.module.name`, of a class's member, or of a module; None if no release of the record has it.

    `package` is the distribution's name, and is needed only where it does not follow from the first part of the name.
    """
    if not is_dotted_name(qualified_name):
        return None
    known = PACKAGES.get(package) if package else package_of_module(qualified_name)
    record = open_record(known.name) if known else None
    split = split_name(record, qualified_name) if record else None
    if record is None or split is None:
        return None
    module, name = split
    if not name:
        return _history(record, module.name, "module", module.mask, module.name, None, is_dynamic=bool(module.dynamic))
    first, _, member = name.partition(".")
    row = record.row(module, first)
    if row is None:
        return None
    resolved = record.resolve(module.name, first)
    assert resolved is not None
    if member:
        mask, row, unread = record.member(module.name, first, member)
        if row is None:
            return None
        kind = _KINDS[row.kind]
        return _history(record, qualified_name, kind, mask, resolved.module, row, is_dynamic=False, unread=unread)
    definition = resolved.row if resolved.row.kind in "cfv" else row
    return _history(
        record,
        qualified_name,
        _KINDS[definition.kind],
        without_gaps(module, row.mask),
        resolved.module,
        definition,
        is_dynamic=bool(module.dynamic or unclear_releases(record, module, first, row.mask)),
    )


_KINDS = {"c": "class", "f": "function", "v": "variable", "m": "module", "i": "variable"}


def _history(
    record: PackageRecord,
    name: str,
    kind: str,
    mask: int,
    defined_in: str,
    row: NameRow | None,
    *,
    is_dynamic: bool,
    unread: int = 0,
) -> NameHistory:
    from kb.record.replacements import replacement_of

    replacement = replacement_of(name, row)
    parameters = record.parameters(row) if row else {}
    newest = 1 << (len(record.versions) - 1)
    return NameHistory(
        package=record.package.name,
        name=name,
        kind=kind,
        versions=record.lines,
        ranges=record.ranges(mask, unread),
        defined_in=defined_in,
        deprecated=record.ranges(row.deprecated & mask) if row else (),
        notice=row.notice if row else "",
        removed=record.ranges(row.removed & mask) if row else (),
        removal=row.removal if row else "",
        replacement=replacement.name,
        replacement_source=replacement.source,
        moved_to=() if mask & newest else moved_to(record, name),
        parameters=tuple(
            ParameterHistory(parameter, record.ranges(releases, unread)) for parameter, releases in parameters.items()
        ),
        is_dynamic=is_dynamic,
    )
