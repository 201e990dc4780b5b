"""Put the files of one release together: which names each module has once star imports, stubs and lazy modules are followed."""

from __future__ import annotations

from collections.abc import Mapping

from kb.record.rows import CLASS, FUNCTION, IMPORT, MODULE, VARIABLE
from kb.record.source import Definition, ModuleSource, StarImport
from kb.startup.named_tuple import NamedTuple

__all__ = ["ModuleNames", "resolve"]


_LAZY = ("__getattr__", "lazy module")
"""Reasons that a star import does not pass on, because it takes only the names that the module has."""

_SET_BY_COMPILED_CODE = dict.fromkeys(("torch.cuda", "torch.sparse", "torch.cuda.sparse"), "compiled code")
"""Modules to which torch's compiled code adds tensor types such as `FloatTensor`."""


class ModuleNames(NamedTuple):
    """The names that a module has when it is imported, and why there may be more; `dynamic` is empty where there are none."""

    names: dict[str, Definition]
    dynamic: str


def resolve(
    sources: Mapping[str, ModuleSource], stubs: Mapping[str, ModuleSource], compiled: set[str]
) -> dict[str, ModuleNames]:
    """Return the names of every module of a release.

    A compiled module has the names of its stub and is dynamic, because stubs leave names out.
    """
    extended = {module: reason for source in sources.values() for module, reason in source.extended.items()}
    resolver = _Resolver(sources, stubs, extended)
    modules = {
        name: ModuleNames(resolver.names(name), resolver.reason(name)) for name in sorted({*sources, *stubs, *compiled})
    }
    for source in sources.values():
        for documented, notice in source.documented.items():
            _add_documented(modules, resolver, documented, notice)
        for written in sorted(source.written):
            owner, name = _split(modules, written)
            if name and ("." not in name or name.partition(".")[0] in modules[owner].names):
                modules[owner].names.setdefault(name, Definition(VARIABLE))
    for name in list(modules):
        parent, _, last = name.rpartition(".")
        if parent in modules and last not in modules[parent].names:
            modules[parent].names[last] = Definition(MODULE, name)
    return modules


def _split(modules: Mapping[str, ModuleNames], qualified: str) -> tuple[str, str]:
    """Split a qualified name into its longest module and the rest, which is empty where no module is known."""
    owner = qualified.rpartition(".")[0]
    while owner and owner not in modules:
        owner = owner.rpartition(".")[0]
    return owner, qualified[len(owner) + 1 :] if owner else ""


def _add_documented(modules: Mapping[str, ModuleNames], resolver: _Resolver, documented: str, notice: str) -> None:
    """Add a compiled function that has a docstring, and say there, or where it comes from, that it is deprecated."""
    owner, _, name = documented.rpartition(".")
    if owner not in modules:
        return
    definition = modules[owner].names.setdefault(name, Definition(FUNCTION))
    source, _, imported = definition.target.partition(":")
    if notice and definition.kind == IMPORT and imported in (names := resolver.names(source)):
        names[imported] = names[imported]._replace(deprecated=names[imported].deprecated or notice)
    elif notice:
        modules[owner].names[name] = definition._replace(deprecated=definition.deprecated or notice)


class _Resolver:
    def __init__(
        self, sources: Mapping[str, ModuleSource], stubs: Mapping[str, ModuleSource], extended: Mapping[str, str]
    ) -> None:
        self._sources, self._stubs, self._extended = sources, stubs, extended
        self._reasons: dict[str, str] = {}
        self._names: dict[str, dict[str, Definition]] = {}

    def reason(self, module: str) -> str:
        """Return why a module may have names that no file shows: its own code, that of others, or a star import of such a module or of an unknown one."""
        if module not in self._reasons:
            self._reasons[module] = ""  # for modules that import each other
            self._reasons[module] = self._reason(module)
        return self._reasons[module]

    def _reason(self, module: str) -> str:
        source = self._sources.get(module)
        if source is None:
            return "compiled"
        if reason := source.dynamic or self._extended.get(module) or _SET_BY_COMPILED_CODE.get(module):
            return reason
        stars = [
            star.module for star in source.stars if not star.is_class and (source.is_lazy or not star.is_typing_only)
        ]
        return next(filter(None, (self._star_reason(star) for star in stars)), "")

    def _star_reason(self, module: str) -> str:
        source = self._sources.get(module)
        if source is None:
            return "star import"
        reason = self.reason(module)
        return "" if reason in _LAZY else reason

    def names(self, module: str) -> dict[str, Definition]:
        """Return all names of a module, those of its stub included."""
        if module in self._names:
            return self._names[module]
        names = self._names[module] = {}
        source, stub = self._sources.get(module), self._stubs.get(module)
        for part, is_stub in ((stub, True), (source, False)):
            if part is None:
                continue
            is_lazy = part.is_lazy or is_stub
            for star in part.stars:
                if not star.is_typing_only or is_lazy:
                    for name, definition in self._star(star).items():
                        names.setdefault(name, definition)
            for name, definition in part.names.items():
                if definition.is_typing_only and not (part.is_lazy and not is_stub):
                    continue
                names[name] = _merged(names.get(name), definition)
        return names

    def _star(self, star: StarImport) -> dict[str, Definition]:
        """Return what a star import brings, each name as an import from the module that it comes from."""
        module = star.module
        if star.is_class and module not in self._sources and module not in self._stubs:
            owner, _, name = module.rpartition(".")
            members = {
                key[len(name) + 1 :]: value for key, value in self.names(owner).items() if key.startswith(name + ".")
            }
            return {key: value for key, value in members.items() if not key.startswith("__")}
        if module not in self._sources and module not in self._stubs:
            return {}
        names = self.names(module)
        part = self._sources.get(module)
        if part is not None and part.exported is not None and part.exported:
            public = [name for name in part.exported if name in names]
        else:
            public = [name for name in names if not name.startswith("_") and "." not in name]
        if star.is_class:
            public = [name for name in names if "." not in name]
        return {name: _as_import(module, name, names[name]) for name in public}


def _as_import(module: str, name: str, definition: Definition) -> Definition:
    if definition.kind in (IMPORT, MODULE):
        return definition
    return Definition(IMPORT, f"{module}:{name}", "" if definition.kind == CLASS else definition.signature)


def _merged(earlier: Definition | None, definition: Definition) -> Definition:
    """Let the source say what a name is, and the stub its parameters where the source does not show them."""
    if earlier is not None and earlier.signature and not definition.signature:
        return definition._replace(signature=earlier.signature)
    return definition
