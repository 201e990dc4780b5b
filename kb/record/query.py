"""Ask the record about names: which releases have a name, its parameters, where a name moved to."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache, reduce
from operator import or_

from kb.record.data_folder import data_folder, record_path
from kb.record.internal_modules import is_private
from kb.record.packages import PACKAGES, Package, package_of_module
from kb.record.ranges import VersionRange, decode, version_ranges
from kb.record.rows import NameRow, message_key, parse_message, parse_module, parse_name
from kb.record.store import RecordFile
from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple

__all__ = [
    "ModuleRecord",
    "PackageRecord",
    "Resolved",
    "is_dotted_name",
    "open_record",
    "outermost_module",
    "recorded_packages",
    "split_name",
    "unclear_releases",
    "without_gaps",
]

_NAME = lazy_pattern(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_MAX_NAME = 300
_MAX_IMPORTS = 8
"""How many imports of imports are followed."""

_MAX_BASES = 24
"""How many base classes are looked at for a member."""

_WITHOUT_MEMBERS = ("object", "ABC", "Generic", "Protocol")
"""Base classes of Python that bring no public members."""


class ModuleRecord(NamedTuple):
    """A module: the releases that have it, those in which it makes names at run time, and the lines of its names."""

    name: str
    mask: int
    dynamic: int
    text: str


class Resolved(NamedTuple):
    """A name once its imports are followed: the module that defines it, its name there, and its row."""

    module: str
    name: str
    row: NameRow


class Member(NamedTuple):
    """What is known of a class's member: the releases that have it, its row, and the releases in which a base class could not be read."""

    mask: int
    row: NameRow | None
    unread: int


_NOTHING = Resolved("", "", NameRow())


class PackageRecord:
    """The record of one package. Blocks of its file are read when they are asked for."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self._file = RecordFile(record_path(package.name))
        self.versions: list[str] = self._file.head["versions"]
        self.lines = tuple(minor_version(version, package.parts) for version in self.versions)
        self.all = (1 << len(self.versions)) - 1
        self.module = lru_cache(maxsize=256)(self._read_module)
        self.row = lru_cache(maxsize=256)(self._read_row)
        self.names = lru_cache(maxsize=16)(self._read_names)
        self.definitions = lru_cache(maxsize=256)(self._read_definitions)
        self.message_line = lru_cache(maxsize=4096)(self._read_message_line)

    def is_wheel(self, release: int | None = None) -> bool:
        """Return whether a release (default: the newest) was read from a wheel, which has the compiled modules too."""
        return str(self._file.head["archives"][-1 if release is None else release]).endswith(".whl")

    def _read_module(self, name: str) -> ModuleRecord | None:
        """Return a module, or None if no release has it."""
        block = "\n" + self._file.block("names", name)
        start = block.find(f"\n@{name}\t")
        if start < 0:
            return None
        end = block.find("\n@", start + 2)
        text = block[start + 1 : len(block) if end < 0 else end]
        head, _, rest = text.partition("\n")
        _, mask, dynamic = parse_module(head, len(self.versions))
        return ModuleRecord(name, mask, dynamic, "\n" + rest + "\n")

    def _read_row(self, module: ModuleRecord, name: str) -> NameRow | None:
        """Return the row of a name, or of `Class.member`, in a module; None if no release has it there."""
        start = module.text.find(f"\n{name}\t")
        if start < 0:
            return None
        line = module.text[start + 1 : module.text.index("\n", start + 1)]
        return parse_name(line, len(self.versions), module.mask)

    def _read_names(self, module: ModuleRecord) -> tuple[str, ...]:
        """Return the names of a module over all releases, without the members of its classes."""
        names = (line.partition("\t")[0] for line in module.text.split("\n"))
        return tuple(name for name in names if name and "." not in name)

    def resolve(self, module: str, name: str) -> Resolved | None:
        """Follow a name through imports inside the package to its definition."""
        resolved = None
        for _ in range(_MAX_IMPORTS):
            record = self.module(module)
            row = self.row(record, name) if record else None
            if row is None:
                return resolved
            if resolved is not None and resolved[:2] == (module, name):
                return resolved
            resolved = Resolved(module, name, row)
            target, colon, imported = row.target.partition(":")
            if row.kind == "c" or not row.target:
                return resolved
            module, name = (
                (target, imported) if colon else (row.target.rpartition(".")[0], row.target.rpartition(".")[2])
            )
        return resolved

    def member(self, module: str, class_name: str, member: str) -> Member:
        """Return which releases have a member of a class, by itself or by a base class inside the package.

        Its row is that of the nearest class, with the signatures that other releases declare elsewhere: compiled classes have a base
        of another name, or stand in the stub of the package itself.
        """
        rows: list[NameRow] = []
        unread = 0
        pending = [(module, class_name)]
        seen: set[tuple[str, str]] = set()
        while pending and len(seen) < _MAX_BASES:
            owner = pending.pop(0)
            resolved = self.resolve(*owner)
            if resolved is None or resolved[:2] in seen:
                continue
            seen.add(resolved[:2])
            record = self.module(resolved.module)
            assert record is not None
            asked = self.module(owner[0])
            stub = asked if owner != resolved[:2] else None
            places = [(record, resolved.name), (stub, owner[1])]
            if resolved.row.kind == "c":
                bases = [self.base(resolved.module, base) for base in filter(None, resolved.row.target.split(","))]
                pending += bases
                asked_row = self.row(asked, owner[1]) if asked else None
                releases = (asked_row or resolved.row).mask
                unread |= self._unread_bases(bases, releases)
                former = self._former_places(resolved, releases)
                pending += [(module, resolved.name) for module in former]
                places.insert(1, (record, f"_{resolved.name}"))  # torch's TensorBase was _TensorBase before 2.2
            rows += [row for place, name in places if place and (row := self.row(place, f"{name}.{member}"))]
        content = self.module(module)
        named = self.row(content, class_name) if content else None
        mask = reduce(or_, (row.mask for row in rows), 0) & (named.mask if named else 0)
        return Member(mask, _with_signatures_of(rows) if rows else None, unread & ~mask)

    def _former_places(self, resolved: Resolved, releases: int) -> list[str]:
        """Return the modules that define the class in those of the releases in which its newest module does not have it."""
        elsewhere = releases & ~resolved.row.mask
        modules = self.definitions(resolved.name) if elsewhere else ()
        rows = [(module, self.row(content, resolved.name)) for module in modules if (content := self.module(module))]
        return [module for module, row in rows if row and row.kind == "c" and row.mask & ~elsewhere == 0]

    def _unread_bases(self, bases: list[tuple[str, str]], releases: int) -> int:
        """Return those of the releases that do not show one of the base classes of this package."""
        unread = 0
        for module, base in bases:
            record = self.module(module) if package_of_module(module) is self.package else None
            rows = [self.row(record, name) for name in (base, f"_{base}")] if record else []
            shown = reduce(or_, (row.mask for row in rows if row), 0)
            unread |= releases & ~shown if record else 0
        return unread

    def base(self, module: str, base: str) -> tuple[str, str]:
        """Return the module and the name of a base class as it is written in `module`."""
        head, dot, rest = base.partition(".")
        if not dot:
            return module, base
        resolved = self.resolve(module, head)
        origin = f"{resolved.module}.{resolved.name}" if resolved else head
        if resolved and resolved.row.kind == "m":
            origin = resolved.row.target
        path = f"{origin}.{rest}"
        return path.rpartition(".")[0], path.rpartition(".")[2]

    def may_inherit(self, module: str, class_name: str, member: str) -> bool:
        """Return whether a base class that no record has, or one of another package, may bring the member."""
        pending = [(module, class_name)]
        seen: set[tuple[str, str]] = set()
        while pending and len(seen) < _MAX_BASES:
            owner = pending.pop()
            resolved = self.resolve(*owner)
            if resolved is None or resolved.row.kind != "c":
                if self._foreign_base_may_have(*owner, member):
                    return True
                continue
            if resolved[:2] not in seen:
                seen.add(resolved[:2])
                pending += [self.base(resolved.module, base) for base in filter(None, resolved.row.target.split(","))]
        return False

    def _foreign_base_may_have(self, module: str, name: str, member: str) -> bool:
        """Return whether a class from outside the package may have the member; `module.name` is what this package calls it."""
        if name in _WITHOUT_MEMBERS:
            return False
        origin = f"{module}.{name}"
        if package_of_module(module) is self.package:
            whole, part = self.resolve(module, name), self.resolve(*_parent(module))
            target = (whole or part or _NOTHING).row.target.replace(":", ".")
            origin = target if whole else f"{target}.{name}"
        known = package_of_module(origin)
        record = open_record(known.name) if known is not None and known is not self.package else None
        if record is None:
            return True
        owner, last = _parent(origin)
        return record.member(owner, last, member).mask != 0 or record.may_inherit(owner, last, member)

    def _read_definitions(self, name: str) -> tuple[str, ...]:
        """Return the modules that define a class or a function of that name in any release."""
        block = "\n" + self._file.block("symbols", name) + "\n"
        start = block.find(f"\n{name}\t")
        return tuple(block[start + len(name) + 2 : block.index("\n", start + 1)].split()) if start >= 0 else ()

    def releases_importing(self, target: str) -> int:
        """Return the releases that import `module:name` of another package."""
        block = "\n" + self._file.block("users", target) + "\n"
        start = block.find(f"\n{target}\t")
        return (
            decode(block[start + len(target) + 2 : block.index("\n", start + 1)], len(self.versions))
            if start >= 0
            else 0
        )

    def _read_message_line(self, number: int) -> str:
        """Return the line of a message by its number."""
        first, lines = self._file.lines("messages", message_key(number))
        return lines[number - int(first)]

    def templates(self) -> Iterator[tuple[int, str]]:
        """Yield every message as its releases and its template. This reads the whole section."""
        for block in self._file.all_blocks("messages"):
            for line in block.split("\n"):
                (template, _, _), row = parse_message(line, len(self.versions))
                yield row.mask, template

    def release_at(self, version: str) -> int | None:
        """Return the number of the release whose minor version `version` belongs to: the last that is not newer; None before the first."""
        from packaging.version import InvalidVersion, Version

        try:
            wanted = Version(minor_version(version, self.package.parts))
        except InvalidVersion:
            return None
        number = bisect_right([Version(line) for line in self.lines], wanted) - 1
        return number if number >= 0 else None

    def ranges(self, mask: int, unread: int = 0) -> tuple[VersionRange, ...]:
        """Return a set of releases as ranges of minor versions. `unread` are those of which it is not known."""
        return version_ranges(mask, self.lines, unread)

    def parameters(self, row: NameRow) -> dict[str, int]:
        """Return the releases in which a callable has each of its named parameters."""
        from kb.record.parameters import parse_signature

        masks: dict[str, int] = {}
        for text, mask in row.signatures.items():
            for name in parse_signature(text).names:
                masks[name] = masks.get(name, 0) | mask
        return masks


def minor_version(version: str, parts: int) -> str:
    """Return the first parts of a version: `2.0` for 2.0.1+cu118."""
    return ".".join(version.partition("+")[0].split(".")[:parts])


@lru_cache(maxsize=64)
def open_record(package: str) -> PackageRecord | None:
    """Return the record of a package by its normalized name, or None if there is none."""
    known = PACKAGES.get(package)
    return PackageRecord(known) if known and os.path.exists(record_path(package)) else None


def recorded_packages() -> list[str]:
    """Return the names of the packages whose record is installed."""
    try:
        return sorted(name.removesuffix(".kbr") for name in os.listdir(data_folder()) if name.endswith(".kbr"))
    except OSError:
        return []


def split_name(record: PackageRecord, dotted: str) -> tuple[ModuleRecord, str] | None:
    """Split a dotted name into the longest module of the package and the rest, which is empty for a module."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        module = record.module(".".join(parts[:end]))
        if module is not None:
            return module, ".".join(parts[end:])
    return None


def _with_signatures_of(rows: list[NameRow]) -> NameRow:
    """Return the first row with the signatures of all."""
    first = rows[0]
    row = NameRow(first.kind, first.target, first.mask, first.deprecated, first.notice)
    row.removed, row.removal = first.removed, first.removal
    for other in rows:
        for signature, mask in other.signatures.items():
            row.signatures[signature] = row.signatures.get(signature, 0) | mask
    return row


def _parent(dotted: str) -> tuple[str, str]:
    owner, _, last = dotted.rpartition(".")
    return owner, last


def is_dotted_name(text: str) -> bool:
    """Return whether a text is a name, or several with dots between them."""
    return len(text) <= _MAX_NAME and _NAME.fullmatch(text) is not None


def unclear_releases(record: PackageRecord, module: ModuleRecord, name: str, mask: int) -> int:
    """Return the releases, other than those in `mask`, in which a module of a private subpackage may import the name from its package.

    The record leaves such imports out. Another module has to define the name then.
    """
    if not is_private(module.name):
        return 0
    elsewhere = 0
    for other in record.definitions(name):
        content = record.module(other) if other != module.name else None
        row = record.row(content, name) if content else None
        elsewhere |= row.mask if row else 0
    return module.mask & ~mask & elsewhere


def without_gaps(module: ModuleRecord, mask: int) -> int:
    """Return the releases that have a name, and a single one between two of them that makes names at run time: it made this one too."""
    return mask | (mask << 1) & (mask >> 1) & module.dynamic


_MAX_OVERLAP = 3
"""In how many releases a name that moves may be defined in both places."""


def moved_to(record: PackageRecord, name: str, release: int | None = None) -> tuple[str, ...]:
    """Return other public modules that have what a name was in a release (default: the newest), the least deep first.

    A class or function of the same name that was there all along is another.
    """
    at = len(record.versions) - 1 if release is None else release
    owner, _, last = name.rpartition(".")
    was = record.resolve(owner, last)
    modules = []
    for module in record.definitions(last):
        content = record.module(module) if module != owner else None
        there = record.row(content, last) if content else None
        if there is None or not there.mask >> at & 1 or (was and was.row.kind in "cfv" and was.row.kind != there.kind):
            continue
        if was is None or was.module == module or (was.row.mask & there.mask).bit_count() <= _MAX_OVERLAP:
            modules.append(outermost_module(record, module, last, 1 << at))
    public = [module for module in modules if "._" not in module]
    places = tuple(dict.fromkeys(sorted(public, key=lambda module: (module.count("."), module))))[:3]
    return places or _packages_around(record, owner, last, at)


def _packages_around(record: PackageRecord, owner: str, name: str, release: int) -> tuple[str, ...]:
    """Return the innermost package around a module that has the name in a release, imported from elsewhere."""
    ends = [end for end, character in enumerate(owner) if character == "."]
    for package in (owner[:end] for end in reversed(ends)):
        around = record.module(package)
        row = record.row(around, name) if around else None
        if row is not None and row.kind == "i" and row.mask >> release & 1:
            return (package,)
    return ()


def outermost_module(record: PackageRecord, module: str, name: str, bit: int) -> str:
    """Return the outermost of the packages around a module that offers what the module defines: `torch.nn` for `torch.nn.modules.conv`."""
    ends = [end for end, character in enumerate(module) if character == "."]
    for parent in (module[:end] for end in ends):
        content = record.module(parent)
        row = record.row(content, name) if content else None
        if row is not None and row.mask & bit:
            resolved = record.resolve(parent, name)
            if resolved is not None and resolved[:2] == (module, name):
                return parent
    return module
