"""Rules for repros and fixes, read from their syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from kb.corpus import Corpus
from kb.entry import Block, Entry
from kb.lexer import lex
from kb.pattern import match
from kb.rules import Finding, rule
from kb.template import TemplateError, compile_template

__all__ = ["asserts", "same_assert"]

_MAX_LINE = 88
_EXITS = {"sys.exit", "os._exit", "exit", "quit", "os.abort", "os.kill", "signal.raise_signal", "atexit.register"}
_INSIDES = {
    "sys._getframe",
    "sys._current_frames",
    "gc.get_objects",
    "gc.get_referrers",
    "inspect.stack",
    "inspect.currentframe",
    "sys.settrace",
    "sys.setprofile",
}
_HIDING = {
    "warnings.filterwarnings",
    "warnings.simplefilter",
    "warnings.catch_warnings",
    "torch.set_warn_always",
    "logging.disable",
    "contextlib.redirect_stderr",
}


@lru_cache(maxsize=1024)
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def asserts(source: str) -> list[ast.Assert]:
    """Return the assert statements of a program."""
    return [node for node in ast.walk(_tree(source)) if isinstance(node, ast.Assert)]


def same_assert(one: ast.Assert, other: ast.Assert) -> bool:
    """Tell whether two asserts test the same, wherever they stand and whatever message they carry."""
    return ast.dump(one.test) == ast.dump(other.test)


def _calls(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line in the program, dotted name) of every call."""
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)


def _blocks(entry: Entry) -> Iterator[tuple[str, Block]]:
    for case in entry.cases:
        yield "repro", case.repro
        yield "fix", case.fix


@rule("KB020", "A repro contains no text of its own message: the error comes from PyTorch.")
def says_its_message(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """A string that a template of the entry matches, or a `raise` of the very type a message has."""
    templates = []
    for message in entry.messages:
        try:
            templates.append(compile_template(message.text))
        except TemplateError:
            continue
    types = {template.type for template in templates if template.type}
    for case in entry.cases:
        for node in ast.walk(_tree(case.repro.source)):
            line = case.repro.line + getattr(node, "lineno", 1) - 1
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                tokens = lex(node.value)
                for template in templates:
                    if template.literals and any(match(template.pieces, tokens, start) for start in range(len(tokens))):
                        yield line, "the repro contains its own message; let PyTorch raise it"
                        break
            elif isinstance(node, ast.Raise) and node.exc is not None:
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if ast.unparse(raised).rpartition(".")[2] in types:
                    yield line, f"the repro raises {ast.unparse(raised)} itself; let PyTorch raise it"


@rule("KB021", "A fix has an assert that can fail.")
def proves_nothing(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """No assert at all, or only ones on constants."""
    for case in entry.cases:
        if not any(
            isinstance(node, ast.Name | ast.Call) for found in asserts(case.fix.source) for node in ast.walk(found.test)
        ):
            yield case.fix.line, "the fix has no assert that can fail; end it by asserting what is right now"


@rule("KB022", "The failing assert of a silent repro stands in its fix as well.")
def assert_shared(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Which of the asserts fails is known after a run; that one at least could be shared is known before."""
    if entry.kind != "silent":
        return
    for case in entry.cases:
        if not any(same_assert(one, other) for one in asserts(case.repro.source) for other in asserts(case.fix.source)):
            yield case.repro.line, "no assert of this repro stands in its fix; use the very same assert in both"


@rule("KB023", "A program ends by itself: no exit, no kill, no handler at exit.")
def early_end(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """`sys.exit(0)` before the assert would look like success."""
    for role, block in _blocks(entry):
        for line, name in _calls(block.source):
            if name in _EXITS:
                yield block.line + line - 1, f"the {role} calls {name}; let it run to its last line"


@rule("KB024", "A program does not look into the interpreter that runs it.")
def looks_inside(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Frames, garbage collector and trace hooks are how a program would fake its result."""
    for role, block in _blocks(entry):
        for line, name in _calls(block.source):
            if name in _INSIDES:
                yield block.line + line - 1, f"the {role} calls {name}, which no entry needs; find another way"


@rule("KB025", "A fix hides no warning.")
def hides_warnings(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Silencing is no fix."""
    for case in entry.cases:
        for line, name in _calls(case.fix.source):
            if name in _HIDING:
                yield case.fix.line + line - 1, f"the fix calls {name}; remove the cause of the warning instead"


@rule("KB026", f"A line of code has at most {_MAX_LINE} characters.")
def long_code(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Longer ones wrap in a terminal and scroll on a phone."""
    for role, block in _blocks(entry):
        for number, line in enumerate(block.source.split("\n")):
            if len(line) > _MAX_LINE:
                yield block.line + number, f"this line of the {role} has {len(line)} characters; break it"


@rule("KB027", "Repro and fix are not the same program.")
def no_difference(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """The difference between them is what a reader looks at."""
    for case in entry.cases:
        if ast.dump(_tree(case.repro.source)) == ast.dump(_tree(case.fix.source)):
            yield case.fix.line, "the fix is the same program as the repro; change what must be changed"


@rule("KB028", "A program names no file or address outside.")
def reaches_out(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Addresses on the network and other people's folders; loopback, /tmp and /dev/shm are there in every sandbox."""
    outside = re.compile(r"https?://|(?<![\w/])/(?:home|Users|root|work|mnt|data)/")
    for role, block in _blocks(entry):
        for node in ast.walk(_tree(block.source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and outside.search(node.value):
                yield block.line + node.lineno - 1, f"the {role} names {node.value[:60]!r}; make what it needs itself"
