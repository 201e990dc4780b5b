"""The history of one package: what each release has, kept as a set of releases for every name, signature and message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kb.record.internal_modules import is_internal, is_private
from kb.record.messages import Message
from kb.record.module_names import ModuleNames
from kb.record.packages import PACKAGES
from kb.record.rows import CLASS, FUNCTION, IMPORT, MODULE, MessageRow, NameRow
from kb.record.source import Definition
from kb.record.standard_library import is_plain_import

__all__ = ["PackageHistory"]


@dataclass
class PackageHistory:
    """What the releases of a package have. Bit `i` of every mask stands for `versions[i]`."""

    package: str
    versions: list[str] = field(default_factory=list)
    archives: list[str] = field(default_factory=list)
    modules: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The releases that have the module, and those in which it makes names at run time."""
    names: dict[tuple[str, str], NameRow] = field(default_factory=dict)
    messages: dict[tuple[str, str, str], MessageRow] = field(default_factory=dict)
    """By template, type and `module:function`; type and function are empty for a text of a compiled library."""
    _private_variables: dict[tuple[str, str], int] = field(default_factory=dict)
    """The releases in which a private member is no function. They count if it is one in another release, so that it is not said to be gone."""

    def add_release(
        self,
        version: str,
        archive: str,
        modules: Mapping[str, ModuleNames],
        messages: Mapping[str, Iterable[Message]],
        fragments: Mapping[str, Iterable[str]],
    ) -> None:
        """Add a release that is newer than those there are: names by module, messages by module, fragments by library."""
        bit = 1 << len(self.versions)
        self.versions.append(version)
        self.archives.append(archive)
        for module, content in modules.items():
            if is_internal(module):
                continue
            mask, dynamic = self.modules.get(module, (0, 0))
            self.modules[module] = mask | bit, dynamic | (bit if content.dynamic else 0)
            for name, definition in content.names.items():
                self._add_name(module, name, definition, bit)
        for module, texts in messages.items():
            for message in texts if not is_internal(module) else ():
                key = (message.template, message.type, f"{module}:{message.function}")
                row = self.messages.setdefault(key, MessageRow())
                row.mask |= bit
                row.condition, row.line = message.condition, message.line
        for library, strings in fragments.items():
            for text in strings:
                row = self.messages.setdefault((text, "", ""), MessageRow())
                row.mask, row.condition = row.mask | bit, library

    def _add_name(self, module: str, name: str, definition: Definition, bit: int) -> None:
        key = (module, name)
        if not self._is_recorded(module, name, definition):
            if key in self.names:
                self.names[key].mask |= bit
            elif name.partition(".")[2].startswith("_") and not is_private(module):
                self._private_variables[key] = self._private_variables.get(key, 0) | bit
            return
        row = self.names.setdefault(key, NameRow())
        row.kind, row.mask = definition.kind, row.mask | bit | self._private_variables.pop(key, 0)
        row.target = definition.target if definition.kind in (CLASS, IMPORT, MODULE) or "." in definition.target else ""
        if definition.signature and definition.kind in (CLASS, FUNCTION):
            row.signatures[definition.signature] = row.signatures.get(definition.signature, 0) | bit
        if definition.deprecated:
            row.deprecated |= bit
            row.notice = definition.deprecated
        if definition.removed:
            row.removed |= bit
            row.removal = definition.removed

    @staticmethod
    def _is_own(module: str, target: str) -> bool:
        return target.partition(":")[0].partition(".")[0] == module.partition(".")[0]

    def _is_recorded(self, module: str, name: str, definition: Definition) -> bool:
        """Leave out what nobody asks for.

        That is Python's own names, imports inside private subpackages from their own package, members of private classes, and private members that are no
        functions. `__init__` is left out too, because the row of its class has its parameters.
        """
        known = PACKAGES.get(self.package)
        if is_plain_import(name, definition.kind, definition.target):
            return False
        if is_private(module) and definition.kind in (IMPORT, MODULE) and self._is_own(module, definition.target):
            return False
        if known is not None and not known.reads_private and name.rpartition(".")[2].startswith("_"):
            return False
        member = name.partition(".")[2]
        if not member:
            return True
        if member == "__init__" or is_private(module):
            return False
        if definition.kind == FUNCTION:
            return True
        return not member.startswith("_") and (known is None or known.reads_attributes)
