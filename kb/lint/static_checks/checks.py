"""The checks of one program: what it must not refer to, do or assert. Each finding names the rule that it breaks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kb.corpus.entry import Role
from kb.lint.static_checks.assertions import always_holds, assertions, top_level_asserts
from kb.lint.static_checks.derived import mentions_library
from kb.lint.static_checks.names import UNKNOWN, Program, Reference, constant_attribute, parse, read_program
from kb.lint.static_checks.own_errors import own_errors
from kb.lint.static_checks.permitted import (
    DUNDERS,
    PARTS_OF,
    REPLACING,
    SETTINGS,
    SPECIAL_METHODS,
    is_permitted_import,
    is_permitted_part,
    is_private,
)

__all__ = ["PACKAGES", "Finding", "check_program"]

PACKAGES = frozenset({"numpy", "torch", "torchaudio", "torchvision"})
"""Packages that every entry may import."""

_ENDS = frozenset(
    "atexit.register builtins.exit builtins.quit os._exit os.abort os.kill os.killpg signal.pthread_kill signal.raise_signal sys.exit".split()
)
_RUNS_TEXT = frozenset("__import__ breakpoint compile dir eval exec globals locals vars".split())
_BY_NAME = frozenset("delattr getattr hasattr setattr".split())
_HIDES_WARNINGS = frozenset(
    "_showwarnmsg catch_warnings filterwarnings formatwarning redirect_stderr redirect_stdout resetwarnings set_warn_always seterr errstate "
    "showwarning simplefilter".split()
)
_REACHES_IN = frozenset(
    "CompilationUnit Formatter ForwardRef _current_frames _getframe ag_frame attrgetter cell_contents co_code co_consts cr_frame currentframe "
    "displayhook exc_info excepthook f_back f_builtins f_code f_globals f_locals get_field get_objects get_referents get_referrers "
    "get_type_hints gi_code gi_frame make_dataclass methodcaller setprofile settrace tb_frame tb_next unraisablehook".split()
)
_OWN_FILE = re.compile(
    r"(?:^|/)program\.py$|^/(?:proc(?!/self/statm$|/meminfo$)|sys)(?:/|$)|^/dev/(?!shm(?:/|$)|null$)"
)
"""Files about the program and its devices. How much memory the process or the machine uses may be read."""
_HIDDEN_NAME = re.compile(
    r"__(?:builtins|subclasses|globals|closure|code|import|dict|class|bases|mro)__|_getframe|f_back|f_globals|tb_frame"
    r"|get_objects|get_referrers|excepthook|showwarning"
)
_DEPTH = 2
"""Levels of programs in the texts of programs that are read."""

Breach = tuple[int, str, str]
"""A line, a rule, and what the program does, to be said of the repro or the fix."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A rule that a program breaks: the program's line from 1, the rule's number, and what to do."""

    line: int
    rule: str
    what: str


@lru_cache(maxsize=2048)
def check_program(
    source: str, role: Role, packages: frozenset[str] = PACKAGES, depth: int = _DEPTH
) -> tuple[Finding, ...]:
    """Return what a program must not do, sorted by line. `packages` may be imported beside the standard library's permitted modules."""
    program = read_program(source)
    packages |= _written_modules(program)
    breaches = [
        *_imports(program, packages),
        *_builtins(program),
        *_modules(program),
        *_attributes(program),
        *_stores(program),
        *_constants(program),
        *_definitions(program),
        *(own_errors(program) if role == "repro" else ()),
        *(_asserts(source, program) if role == "fix" else ()),
    ]
    findings = {Finding(line, rule, f"the {role} {what}") for line, rule, what in breaches}
    if depth:
        findings |= set(_inner_programs(program, role, packages, depth))
    return tuple(sorted(findings))


def _imports(program: Program, packages: frozenset[str]) -> Iterator[Breach]:
    """Modules that are neither permitted, nor packages of the entry, nor written by the program; imports that hide their names."""
    for node in program.nodes:
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            if any(alias.name == "*" for alias in node.names):
                yield node.lineno, "KB024", f"imports every name of {node.module}; name those that it uses"
        else:
            continue
        for module in modules:
            if module.partition(".")[0] in {"warnings", "logging"}:
                yield node.lineno, "KB025", f"imports {module}; remove the cause of a warning instead of handling it"
            elif not is_permitted_import(module, packages):
                yield node.lineno, "KB024", f"imports {module}, which entries do not use; find another way"


def _builtins(program: Program) -> Iterator[Breach]:
    """Builtins that run text, make classes, or reach attributes whose names are computed."""
    for reference in program.references:
        root, _, name = reference.name.partition(".")
        call = reference.parent if isinstance(reference.parent, ast.Call) else None
        if root != "builtins":
            continue
        if name in _RUNS_TEXT:
            yield reference.line, "KB024", f"uses {name}; write the code itself"
        elif name in _BY_NAME and not (call and call.func is reference.node and constant_attribute(call)):
            yield reference.line, "KB024", f"uses {name} with a name that is not written out; write it as an attribute"
        elif name == "type" and call and _makes_a_class(call):
            yield reference.line, "KB024", "makes a class by type(); write it as a class"


def _modules(program: Program) -> Iterator[Breach]:
    """Parts of modules that end the program or that no list permits, and modules that are passed on as objects."""
    for reference in program.references:
        name, root = reference.name, reference.name.partition(".")[0]
        if name in _ENDS:
            yield reference.line, "KB023", f"uses {name}; let it run to its last line"
        elif root in {"warnings", "logging"} and not isinstance(reference.node, ast.Import | ast.ImportFrom):
            yield reference.line, "KB025", f"uses {name}; remove the cause of the warning instead"
        elif root in PARTS_OF and not is_permitted_part(name):
            yield reference.line, "KB024", f"uses {name}, which no program of an entry needs; find another way"
        elif name in PARTS_OF and not _is_used_in_place(reference):
            yield reference.line, "KB024", f"passes the module {name} on; use its parts where it is imported"
        elif is_private(name):
            yield reference.line, "KB024", f"uses {name}, a private part of the package; use what is public"
        elif name.startswith(REPLACING):
            yield (
                reference.line,
                "KB024",
                f"uses {name}, which replaces what the library does; use the library as it is",
            )
        elif name == "sys.modules" and not _blocks_an_import(reference, program):
            yield (
                reference.line,
                "KB024",
                "uses sys.modules for more than to block an import by None; import the module",
            )


def _attributes(program: Program) -> Iterator[Breach]:
    """Attributes that reach into the interpreter or hide warnings, whatever object they belong to."""
    for reference in program.references:
        name = reference.last
        if name in _HIDES_WARNINGS:
            yield reference.line, "KB025", f"uses {name}; remove the cause of the warning instead"
        elif name in _REACHES_IN or (_is_special(name) and name not in DUNDERS):
            yield reference.line, "KB024", f"uses {name}, which reaches into the interpreter; find another way"
    for node in program.nodes:
        if isinstance(node, ast.Name) and _is_special(node.id) and node.id != "__name__":
            yield node.lineno, "KB024", f"uses {node.id}; a program does not look at itself"


def _stores(program: Program) -> Iterator[Breach]:
    """Parts of modules, and attributes of what a call returns, that a program replaces."""
    for name, line in program.rebound.items():
        yield line, "KB024", f"gives the imported name {name} to something else; use another name"
    for reference in program.references:
        node = reference.node
        if reference.use == "load" or not isinstance(node, ast.Attribute | ast.Call):
            continue
        if not reference.name.startswith((f"{UNKNOWN}.", *SETTINGS)):
            yield reference.line, "KB024", f"replaces {reference.name}; use the library as it is"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
            yield reference.line, "KB024", "replaces an attribute of what a call returns; give the object a name first"


def _constants(program: Program) -> Iterator[Breach]:
    """Texts that name the program's own file, or a device, or what would be refused as a name; descriptors by number."""
    for node in program.nodes:
        match node:
            case ast.Constant(value=str() | bytes() as value):
                text = value if isinstance(value, str) else value.decode("latin-1")
                if _OWN_FILE.search(text):
                    yield node.lineno, "KB024", f"names {text[:40]!r}; a program does not look at itself or its streams"
                elif hidden := _HIDDEN_NAME.search(text):
                    yield node.lineno, "KB024", f"holds {hidden.group()!r} in a text; find another way"
            case ast.Call(func=ast.Name(id="open"), args=[ast.Constant(value=int()), *_]):
                yield node.lineno, "KB024", "opens a descriptor by its number; open a file of its own"


def _definitions(program: Program) -> Iterator[Breach]:
    """Special methods that decide what comparisons, truth and attributes give."""
    for node in program.nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names = [name]
            case ast.Assign(targets=targets):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case _:
                continue
        for name in names:
            if _is_special(name) and name not in SPECIAL_METHODS:
                yield node.lineno, "KB024", f"defines {name}, which could make any assert hold; compare plain values"


def _asserts(source: str, program: Program) -> Iterator[Breach]:
    """Asserts of a fix that other code could catch or skip, and those that cannot fail."""
    at_top_level = top_level_asserts(program.tree)
    for node in assertions(source):
        if node not in at_top_level:
            yield node.lineno, "KB080", "has an assert that is not at its top level; move it there"
        if reason := always_holds(node.test):
            yield node.lineno, "KB021", f"has an assert that cannot fail, because {reason}; assert what is right now"
        elif not mentions_library(node, source, standard_library=True):
            yield (
                node.lineno,
                "KB021",
                "has an assert that tests nothing that came from a call; assert what the library did",
            )


def _inner_programs(program: Program, role: Role, packages: frozenset[str], depth: int) -> Iterator[Finding]:
    """Check programs in texts, such as modules that a program writes and imports; a finding has the text's line."""
    for node in program.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_code(node.value):
            for finding in check_program(node.value, role, packages, depth - 1):
                if finding.rule not in {"KB021", "KB080"}:
                    yield Finding(node.lineno, finding.rule, f"{finding.what} (in the program of this text)")


def _is_code(text: str) -> bool:
    """Return whether a text is a Python program and not just a word or a path."""
    if not re.search(r"[\n;(=]|\bimport\b|\braise\b", text):
        return False
    try:
        body = parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call) for node in body)


def _written_modules(program: Program) -> frozenset[str]:
    """Return the modules whose files a program names in its texts: `train` for "train.py"."""
    texts = [node.value for node in program.nodes if isinstance(node, ast.Constant)]
    names = (re.fullmatch(r"(?:\w+/)*(\w+?)(?:\.py|/__init__\.py)", text) for text in texts if isinstance(text, str))
    return frozenset(match.group(1) for match in names if match)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _makes_a_class(call: ast.Call) -> bool:
    return len(call.args) > 1 or any(isinstance(argument, ast.Starred) for argument in call.args)


def _is_used_in_place(reference: Reference) -> bool:
    """Return whether a module is imported here, or is what an attribute is taken of, written out or by a constant `getattr`."""
    parent = reference.parent
    if isinstance(reference.node, ast.Import | ast.ImportFrom) or isinstance(parent, ast.Attribute):
        return True
    return isinstance(parent, ast.Call) and constant_attribute(parent) is not None and parent.args[0] is reference.node


def _blocks_an_import(reference: Reference, program: Program) -> bool:
    """Return whether sys.modules is used as in `sys.modules["numpy"] = None` or `"numpy" in sys.modules`."""
    match reference.parent:
        case ast.Compare(ops=operators):
            return all(isinstance(operator, ast.In | ast.NotIn) for operator in operators)
        case ast.Subscript() as subscript:
            statement = program.parents.get(subscript)
            return isinstance(statement, ast.Assign) and getattr(statement.value, "value", ...) is None
        case _:
            return False
