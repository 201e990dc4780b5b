"""Read one Python file without running it: the names that its module has, their parameters, what is deprecated, what is made at run time."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping

from kb.record.deprecation import deprecation_notice, docstring_notice, removal_notice
from kb.record.message_text import text_of
from kb.record.module_getattr import names_served
from kb.record.rows import CLASS, FUNCTION, IMPORT, MODULE, VARIABLE
from kb.record.run_time_names import names_set_at_run_time
from kb.record.signatures import class_signature, signature_of, union_of_overloads
from kb.record.syntax import dotted_name, statements_of
from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["UNREADABLE", "Definition", "ModuleSource", "StarImport", "read_source"]


class Definition(NamedTuple):
    """A name of a module.

    `target` is what an import takes (`package.module:name`), or the bases of a class, separated by commas. `signature` is empty for what cannot be
    called. `removed` is what it raises when that is all that it does. `is_typing_only` is true for a name that exists only for type checkers,
    and for one that the module has only with another package installed, and does not export.
    """

    kind: str
    target: str = ""
    signature: str = ""
    deprecated: str = ""
    removed: str = ""
    is_typing_only: bool = False


class StarImport(NamedTuple):
    """All public names of `module`, or of the class of that name in a stub when `is_class`."""

    module: str
    is_typing_only: bool = False
    is_class: bool = False


class ModuleSource(NamedTuple):
    """What one file says about its module.

    `names` maps a name, or `Class.member`, to its definition. `exported` is `__all__` if it is written out. `dynamic` says why the file does not
    show all names; it is empty where it does. `documented` maps the qualified names of compiled functions that the file gives a docstring to, so that they
    exist, to what it says of their deprecation. `written` are qualified names that the file sets in this module or another. `extended` maps modules into
    which the file sets other names to how it does so.
    """

    names: dict[str, Definition]
    stars: tuple[StarImport, ...]
    exported: frozenset[str] | None
    dynamic: str
    is_lazy: bool
    documented: Mapping[str, str]
    written: frozenset[str]
    extended: Mapping[str, str]


UNREADABLE = ModuleSource({}, (), None, "unreadable", False, {}, frozenset(), {})
"""What is known of a module whose file does not parse."""


def read_source(tree: ast.Module, module: str, *, is_package: bool, is_stub: bool = False) -> ModuleSource:
    """Return what the parsed file of `module` says."""
    reader = _ModuleReader(module, is_package=is_package, is_stub=is_stub)
    reader.read(tree.body, typing_only=False)
    at_run_time = names_set_at_run_time(tree, module, reader.qualified)
    for served in names_served(tree, reader.getattr) if reader.getattr else ():
        reader.names.setdefault(served, Definition(VARIABLE))
    if reader.exported is not None:
        for name in reader.optional.intersection(reader.names).difference(reader.exported):
            reader.names[name] = reader.names[name]._replace(is_typing_only=True)
    names = {name: definition for name, definition in reader.names.items() if not name.startswith("__")}
    return ModuleSource(
        names,
        tuple(dict.fromkeys(reader.stars)),
        None if reader.exported is None else frozenset(reader.exported),
        reader.dynamic or at_run_time.modules.get(module, ""),
        reader.is_lazy,
        reader.documented,
        at_run_time.written,
        at_run_time.modules,
    )


class _ModuleReader:
    """Walks the statements of a module that run when it is imported."""

    def __init__(self, module: str, *, is_package: bool, is_stub: bool) -> None:
        self.module, self._is_package, self._is_stub = module, is_package, is_stub
        self.names: dict[str, Definition] = {}
        self.stars: list[StarImport] = []
        self.exported: list[str] | None = None
        """What `__all__` lists, None where there is none or where it is computed."""
        self.dynamic = ""
        self.is_lazy = False
        self.getattr: ast.FunctionDef | None = None
        self.documented: dict[str, str] = {}
        self.optional: set[str] = set()
        """Names that the module imports from another package where that is installed."""
        self._may_fail = False

    def read(self, body: Iterable[ast.stmt], *, typing_only: bool) -> None:
        for statement in body:
            self._read_statement(statement, typing_only)

    def _read_statement(self, statement: ast.stmt, typing_only: bool) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define_function(statement, typing_only)
            case ast.ClassDef():
                self._define_class(statement, typing_only)
            case ast.Import():
                for alias in statement.names:
                    self._define(
                        alias.asname or alias.name.partition(".")[0],
                        Definition(MODULE, alias.name if alias.asname else alias.name.partition(".")[0]),
                        typing_only or (self._is_stub and not alias.asname),
                    )
            case ast.ImportFrom():
                self._import_from(statement, typing_only)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr() | ast.Delete():
                self._read_simple(statement, typing_only)
            case _:
                self._read_block(statement, typing_only)

    def _read_block(self, statement: ast.stmt, typing_only: bool) -> None:
        """Read a statement that holds others."""
        match statement:
            case ast.If():
                self._read_if(statement, typing_only)
            case ast.For():
                self._read_for(statement)
                self._define_variables(statement.target, typing_only)
                self.read([*statement.body, *statement.orelse], typing_only=typing_only)
            case ast.With(items=items):
                for item in items:
                    self._define_variables(item.optional_vars, typing_only)
                self.read(statement.body, typing_only=typing_only)
            case ast.While():
                self.read(statement.body, typing_only=typing_only)
            case ast.Try():
                self.read([inner for handler in statement.handlers for inner in handler.body], typing_only=typing_only)
                around, self._may_fail = self._may_fail, any(map(_catches_import_error, statement.handlers))
                self.read(statement.body, typing_only=typing_only)
                self._may_fail = around
                self.read([*statement.orelse, *statement.finalbody], typing_only=typing_only)

    def _define(self, name: str, definition: Definition, typing_only: bool) -> None:
        if name == "__getattr__" and not self._is_stub:
            self.dynamic, self.is_lazy = "__getattr__", True
        earlier = self.names.get(name)
        if typing_only and earlier is not None and not earlier.is_typing_only:
            return
        if earlier is not None and earlier.kind == FUNCTION == definition.kind and self._is_stub:
            definition = definition._replace(signature=union_of_overloads(earlier.signature, definition.signature))
        self.names[name] = definition._replace(is_typing_only=typing_only)

    def _define_variables(self, target: ast.expr | None, typing_only: bool) -> None:
        """Define the variables of a loop or of a `with` statement, which a module keeps."""
        for part in ast.walk(target) if target is not None else ():
            if isinstance(part, ast.Name):
                self._define(part.id, Definition(VARIABLE), typing_only)

    def _define_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, typing_only: bool) -> None:
        if node.name == "__getattr__" and isinstance(node, ast.FunctionDef) and not self._is_stub:
            self.getattr = node
        definition = Definition(FUNCTION, "", signature_of(node), deprecation_notice(node), removal_notice(node))
        self._define(node.name, definition, typing_only)
        for statement in node.body:
            if isinstance(statement, ast.Global):
                for name in statement.names:
                    self.names.setdefault(name, Definition(VARIABLE))

    def _define_class(self, node: ast.ClassDef, typing_only: bool) -> None:
        bases = ",".join(base for base in map(dotted_name, node.bases) if base)
        definition = Definition(CLASS, bases, class_signature(node), deprecation_notice(node), removal_notice(node))
        self._define(node.name, definition, typing_only)
        for name, member in _members(node):
            self._define(f"{node.name}.{name}", member, typing_only)

    def _import_from(self, node: ast.ImportFrom, typing_only: bool) -> None:
        source = self._absolute(node.level, node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(StarImport(source, typing_only))
                continue
            hidden = typing_only or (
                self._is_stub and alias.asname != alias.name and not source.startswith(self.module)
            )
            name = alias.asname or alias.name
            if self._may_fail and name not in self.names and self._is_foreign(source):
                self.optional.add(name)
            self._define(name, Definition(IMPORT, f"{source}:{alias.name}"), hidden)

    def _is_foreign(self, source: str) -> bool:
        top = source.partition(".")[0]
        return top != self.module.partition(".")[0] and top not in sys.stdlib_module_names

    def _absolute(self, level: int, name: str) -> str:
        """Return the absolute name of the module in `from ..name import x`."""
        if not level:
            return name
        parts = self.module.split(".")
        parts = parts[: len(parts) - level + self._is_package]
        return ".".join([*parts, name] if name else parts)

    def _read_simple(self, node: ast.stmt, typing_only: bool) -> None:
        if isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.names.pop(target.id, None)
            return
        value = getattr(node, "value", None)
        if isinstance(value, ast.Call):
            self._read_call(value)
        targets: list[Any] = list(node.targets) if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            parts: list[Any] = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            for part in parts:
                self._assign(part, value, typing_only, augmented=isinstance(node, ast.AugAssign))

    def _assign(self, target: ast.expr | None, value: ast.expr | None, typing_only: bool, *, augmented: bool) -> None:
        if isinstance(target, ast.Name):
            if target.id == "__all__":
                self._export(value, augmented=augmented)
            elif not augmented and (value is not None or self._is_stub):
                self._define(target.id, Definition(VARIABLE, _alias_of(value)), typing_only)
            if "import_structure" in target.id or target.id.startswith("_SUBMOD_ATTRS"):
                self._read_lazy_structure(value)
        elif isinstance(target, ast.Subscript):
            self._assign_item(target, value)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            owner = self.names.get(target.value.id)
            if owner is not None and owner.kind == CLASS:
                self.names.setdefault(f"{target.value.id}.{target.attr}", Definition(VARIABLE))

    def _assign_item(self, target: ast.Subscript, value: ast.expr | None) -> None:
        base = dotted_name(target.value)
        if isinstance(target.value, ast.Call) and dotted_name(target.value.func) == "globals":
            if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
                self._define(target.slice.value, Definition(VARIABLE), typing_only=False)
        elif base == "sys.modules":
            self.is_lazy = True
        elif "import_structure" in base and isinstance(target.slice, ast.Constant):
            self._add_lazy_names(str(target.slice.value), value)

    def _read_call(self, call: ast.Call) -> None:
        """Note the calls that make names at run time."""
        last = dotted_name(call.func).rpartition(".")[2]
        if last in ("_LazyModule", "_attach", "lazy_attach", "attach", "attach_stub", "LazyModule"):
            self.is_lazy, self.dynamic = True, "lazy module"
            for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
                self._read_lazy_structure(argument if isinstance(argument, ast.Dict) else None)
        elif last == "add_docstr" and call.args:
            name, docstring = dotted_name(call.args[0]), text_of(call.args[-1], {})
            self.documented[name] = docstring_notice(docstring, name.rpartition(".")[2])
        elif last in ("BuildMessageAndEnumDescriptors", "BuildTopDescriptorsAndMessages"):
            self.dynamic = self.dynamic or "protobuf"
        elif last in ("extend", "append") and isinstance(call.func, ast.Attribute):
            self._read_extend(call)

    def _read_extend(self, call: ast.Call) -> None:
        assert isinstance(call.func, ast.Attribute)
        owner, argument = call.func.value, call.args[0] if call.args else None
        if dotted_name(owner) == "__all__":
            self._export(argument, augmented=True)
        elif (
            isinstance(owner, ast.Subscript)
            and isinstance(owner.slice, ast.Constant)
            and "import_structure" in dotted_name(owner.value)
        ):
            self._add_lazy_names(str(owner.slice.value), argument)

    def _export(self, value: ast.expr | None, *, augmented: bool) -> None:
        if value is None:
            return
        if not augmented:
            self.exported = []
        if self.exported is not None:
            self.exported = [*self.exported, *_strings(value)] if _is_written_out(value) else None

    def _read_lazy_structure(self, value: ast.expr | None) -> None:
        for part in ast.walk(value) if value is not None else ():
            if isinstance(part, ast.Dict):
                for key, names in zip(part.keys, part.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        self._add_lazy_names(key.value, names)

    def _add_lazy_names(self, submodule: str, names: ast.expr | None) -> None:
        source = self._absolute(1, submodule)
        for name in [] if names is None else _strings(names):
            self._define(name, Definition(IMPORT, f"{source}:{name}"), typing_only=False)

    def _read_if(self, node: ast.If, typing_only: bool) -> None:
        is_alternative = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or)
        is_typing = not is_alternative and any(
            dotted_name(part).endswith("TYPE_CHECKING") for part in ast.walk(node.test) if isinstance(part, ast.expr)
        )
        negated = is_typing and isinstance(node.test, ast.UnaryOp)
        self.read(node.body, typing_only=typing_only or (is_typing and not negated))
        self.read(node.orelse, typing_only=typing_only or negated)

    def qualified(self, name: str) -> str:
        """Return the absolute name of `_C.Functions`, where `_C` may be an imported module or a submodule."""
        head, dot, rest = name.partition(".")
        known = self.names.get(head)
        if known is not None and known.kind == IMPORT:
            return known.target.replace(":", ".") + dot + rest
        if known is not None and known.kind == MODULE:
            return known.target + dot + rest
        return f"{self.module}.{name}"

    def _read_for(self, node: ast.For) -> None:
        """Take `for name in dir(module): globals()[name] = …` for a star import."""
        if not any(isinstance(part, ast.Call) and dotted_name(part.func) == "globals" for part in ast.walk(node)):
            return
        match node.iter:
            case ast.Call(func=ast.Name(id="dir"), args=[source]) if dotted_name(source):
                name = self.qualified(dotted_name(source))
                self.stars.append(StarImport(name, is_class=True))
                self.dynamic = self.dynamic or "dir()"
            case _:
                self.dynamic = self.dynamic or "globals()"


def _members(node: ast.ClassDef) -> Iterator[tuple[str, Definition]]:
    """Yield the members that the body of a class defines, and the attributes that its methods set on `self`."""
    for statement in _flat(node.body):
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                kind = VARIABLE if _is_property(statement) else FUNCTION
                yield (
                    statement.name,
                    Definition(
                        kind,
                        "",
                        signature_of(statement, method=True),
                        deprecation_notice(statement),
                        removal_notice(statement),
                    ),
                )
                yield from _attributes_set_by(statement)
            case ast.Assign():
                for target in statement.targets:
                    for inner in target.elts if isinstance(target, ast.Tuple) else [target]:
                        if isinstance(inner, ast.Name):
                            yield inner.id, Definition(VARIABLE)
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, Definition(VARIABLE)
            case ast.ClassDef():
                yield statement.name, Definition(VARIABLE)


def _attributes_set_by(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, Definition]]:
    for part in statements_of(method.body):
        targets = (
            part.targets if isinstance(part, ast.Assign) else [part.target] if isinstance(part, ast.AnnAssign) else []
        )
        for target in targets:
            for inner in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == "self":
                    yield inner.attr, Definition(VARIABLE, "self")


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _flat([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.Try):
            yield from _flat([*statement.body, *(inner for handler in statement.handlers for inner in handler.body)])
        else:
            yield statement


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        "property" in dotted_name(decorator) or dotted_name(decorator).endswith((".setter", ".getter"))
        for decorator in node.decorator_list
    )


def _alias_of(value: ast.expr | None) -> str:
    """Return the dotted name that an assignment copies, as in `softmax_ = torch.softmax`, else the empty string."""
    return dotted_name(value) if isinstance(value, ast.Attribute | ast.Name) else ""


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        part is None or dotted_name(part) in ("ImportError", "ModuleNotFoundError", "Exception") for part in caught
    )


def _is_written_out(value: ast.expr) -> bool:
    """Return whether a list is made of constants alone, so that `_strings` has all of it."""
    match value:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return all(isinstance(part, ast.Constant) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_written_out(left) and _is_written_out(right)
    return isinstance(value, ast.Constant)


def _strings(value: ast.expr) -> list[str]:
    """Return the string constants of a list, a tuple, a set, a sum of them, or of one constant."""
    return [part.value for part in ast.walk(value) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
