"""What the record answers to an error about a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kb.record.ranges import VersionRange
from kb.startup.named_tuple import NamedTuple

__all__ = ["NO_FILE", "Asker", "Facts", "NameAnswer"]


NO_FILE = "unknown location"
"""What Python names where it read no file: a folder without `__init__.py`."""


class Facts(NamedTuple):
    """What a paste shows besides the error.

    `versions` are those of packages, by normalized distribution name. `packages` are the top-level modules of the packages on the stack, the innermost
    frame first; the reader's own code is left out. `code` are the lines of source that the frames show, the innermost first.
    """

    versions: Mapping[str, str] = {}
    packages: Sequence[str] = ()
    code: Sequence[str] = ()


class Asker(NamedTuple):
    """The package whose code asks for the name: the releases of it that do, and requirements for those that no longer or do not yet ask."""

    package: str
    version: str
    ranges: tuple[VersionRange, ...]
    upgrade: str
    downgrade: str


class NameAnswer(NamedTuple):
    """What the record says to an error about a name.

    `verdict` is one of:

    * removed: `ranges` had it, `gone` is the first release without it, `back` the first that has it again
    * newer: it exists since `since`, and the reader's release is older
    * never: no release that was read has it there; `nearest` are the nearest spellings
    * unknown: likewise, but the module makes names at run time, so that this is no proof
    * submodule: it is a module that has to be imported by itself
    * circular: the release has it, but the module was still being imported
    * present: the release that the paste shows has it, or every release if the paste shows none: the file that Python read is another one

    `kind` is name, module, member, keyword, required or count. `name` is the qualified name; `parameter` is set for kinds keyword and required.
    `version` is the reader's release, if the paste shows it. `pin` is a requirement that brings the name back. `moved_to` are modules that have it
    today. `raising` are the releases in which the name does nothing but raise an error; they count as without it. `file` is the file that Python read, as
    the message names it, where that is not one of an installed package. `found` are names that the reader's code imports from a module that is gone, each
    with the modules that have it today.
    """

    verdict: str
    kind: str
    package: str
    name: str
    parameter: str = ""
    ranges: tuple[VersionRange, ...] = ()
    since: str = ""
    gone: str = ""
    back: str = ""
    version: str = ""
    newest: str = ""
    pin: str = ""
    moved_to: tuple[str, ...] = ()
    replacement: str = ""
    replacement_source: str = ""
    notice: str = ""
    nearest: tuple[str, ...] = ()
    raising: tuple[VersionRange, ...] = ()
    file: str = ""
    found: tuple[tuple[str, tuple[str, ...]], ...] = ()
    asker: Asker | None = None
