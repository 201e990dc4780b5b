"""Judge something that some releases have and the reader's is said to lack: gone, newer, or there after all."""

from __future__ import annotations

from kb.record.name_answer import Asker, Facts, NameAnswer
from kb.record.packages import PACKAGES, package_of_module
from kb.record.query import PackageRecord, minor_version, moved_to, open_record, outermost_module
from kb.record.replacements import replacement_of
from kb.record.rows import NameRow

__all__ = [
    "candidate_records",
    "judge",
    "predates_the_record",
    "public_depth",
    "records_offering",
    "shown_release",
    "shown_version",
]


def judge(
    record: PackageRecord,
    kind: str,
    name: str,
    mask: int,
    row: NameRow | None,
    facts: Facts,
    parameter: str = "",
    unread: int = 0,
) -> NameAnswer | None:
    """Return the answer for something that the releases in `mask` have and the reader's release is said not to have.

    `unread` are releases of which it is not known.
    """
    if predates_the_record(record, facts):
        return None
    release = shown_release(record, facts)
    newest = len(record.versions) - 1
    raising = row.removed & mask if row and kind == "name" else 0
    if raising >> (newest if release is None else release) & 1:
        mask &= ~raising  # what does nothing but raise an error is of no use to the reader
    at = newest if release is None else release
    if unread >> at & 1:
        return None
    earlier, later = mask & ((1 << at) - 1), mask >> (at + 1)
    ranges = record.ranges(mask, unread)
    package = record.package.name
    base = NameAnswer(
        "",
        kind,
        package,
        name,
        parameter,
        ranges,
        version=shown_version(record, release),
        newest=record.lines[-1],
        asker=_asker(record, name, facts),
    )
    if mask >> at & 1 and release is None and len(ranges) > 1:
        at = record.lines.index(
            ranges[-2].gone
        )  # Python says that it is missing: the reader's release is in the newest gap
        earlier, later = mask & ((1 << at) - 1), mask >> (at + 1)
    if mask >> at & 1:
        if release is None and not ranges[-1].is_first:
            return base._replace(verdict="newer", since=ranges[-1].since, pin=f"{package}>={ranges[-1].since}")
        if release is None and kind not in ("name", "module"):
            return None
        replacement = replacement_of(name, row, parameter)
        return base._replace(
            verdict="present",
            replacement=replacement.name,
            replacement_source=replacement.source,
            raising=record.ranges(raising),
        )
    if earlier:
        before = tuple(part for part in ranges if part.gone and record.lines.index(part.until) < at)
        last = before[-1]
        replacement = replacement_of(name, row, parameter)
        return base._replace(
            verdict="removed",
            ranges=before,
            gone=last.gone,
            back=ranges[len(before)].since if later else "",
            raising=record.ranges(raising) if raising >> at & 1 else (),
            pin=f"{package}<{last.gone}",
            moved_to=() if parameter or kind == "member" or replacement.name else moved_to(record, name, at),
            replacement=replacement.name,
            replacement_source=replacement.source,
            notice=row.notice if row and not parameter else "",
        )
    if later:
        first = next(part for part in ranges if record.lines.index(part.since) > at)
        return base._replace(verdict="newer", since=first.since, pin=f"{package}>={first.since}")
    return None


def _asker(record: PackageRecord, name: str, facts: Facts) -> Asker | None:
    """Return the package on the stack that imports the name, the first release of it that no longer does, and the last before those that do."""
    owner, _, last = name.rpartition(".")
    for top in facts.packages:
        known = package_of_module(top)
        if known is None or known.name == record.package.name:
            continue
        asking = open_record(known.name)
        releases = asking.releases_importing(f"{owner}:{last}") if asking else 0
        if asking is None or not releases:
            continue
        ranges = asking.ranges(releases)
        upgrade = f"{known.name}>={ranges[-1].gone}" if ranges[-1].gone else ""
        downgrade = "" if ranges[0].is_first else f"{known.name}<{ranges[0].since}"
        version = minor_version(facts.versions.get(known.name, ""), known.parts)
        return Asker(known.name, version, ranges, upgrade, downgrade)
    return None


def candidate_records(facts: Facts, owner: str = "") -> list[PackageRecord]:
    """Return the records to search first for a bare name: of its package, of the packages on the stack, of those whose version is shown, torch."""
    tops = [package_of_module(name) for name in (owner, *facts.packages)]
    names = [known.name for known in tops if known] + [name for name in facts.versions if name in PACKAGES] + ["torch"]
    return [record for name in dict.fromkeys(names) if (record := open_record(name))]


def records_offering(name: str, deepest: int) -> list[PackageRecord]:
    """Return the packages that offer a class or function of that name at their top or at most so many levels below, the least deep first.

    Of those that offer it deeper than another one, none is meant.
    """
    depths: dict[int, list[PackageRecord]] = {}
    for record in filter(None, map(open_record, PACKAGES)):
        depth = min((public_depth(record, module, name) for module in record.definitions(name)), default=_PRIVATE)
        depths.setdefault(depth, []).append(record)
    least = min(depths, default=_PRIVATE)
    return depths[least] if least <= deepest else []


_PRIVATE = 99


def public_depth(record: PackageRecord, module: str, name: str) -> int:
    """Return how deep in the package the outermost module is that offers what `module` defines, in the newest release that has it."""
    content = record.module(module)
    row = record.row(content, name) if content else None
    if row is None or "._" in module:
        return _PRIVATE
    return outermost_module(record, module, name, 1 << (row.mask.bit_length() - 1)).count(".")


def shown_release(record: PackageRecord, facts: Facts) -> int | None:
    """Return the number of the release that the paste shows, None if it shows none or one that is older than the record."""
    version = facts.versions.get(record.package.name)
    return record.release_at(version) if version else None


def predates_the_record(record: PackageRecord, facts: Facts) -> bool:
    """Return whether the paste shows a release that is older than those that were read."""
    return record.package.name in facts.versions and shown_release(record, facts) is None


def shown_version(record: PackageRecord, release: int | None) -> str:
    """Return the minor version of a release, the empty string if there is none."""
    return "" if release is None else record.lines[release]
