"""Rules for repros, fixes and checks, read from their syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kb.corpus.entry import Block, Entry
from kb.corpus.environments import modules_required, requirement_faults
from kb.corpus.loader import Corpus
from kb.corpus.programs import foreign_imports, parse_program, program_nodes
from kb.lint.rules import Finding, line_of, rule
from kb.templates.entry_templates import entry_templates
from kb.templates.occurrences import find_occurrences
from kb.text.lexer import lex

_MAX_LINE = 88
_IMPORT_ERRORS = {"ModuleNotFoundError", "ImportError"}


def _blocks(entry: Entry) -> Iterator[tuple[str, Block]]:
    for runnable in entry.runnables:
        yield from runnable.blocks.items()


@rule("KB020", "A repro contains no text of its own message: the error comes from PyTorch.")
def says_its_message(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """A string that a template of the entry matches."""
    templates = [template for _, template in entry_templates(entry) if template.literals]
    for case in entry.cases:
        for node in program_nodes(case.repro.source):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                tokens = lex(node.value)
                if any(find_occurrences(template.pieces, tokens) for template in templates):
                    yield case.repro.line + node.lineno - 1, "the repro contains its own message; let PyTorch raise it"


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
        repro, fix = case.repro.source, case.fix.source
        if len(program_nodes(repro)) == len(program_nodes(fix)) and ast.dump(parse_program(repro)) == ast.dump(
            parse_program(fix)
        ):
            yield case.fix.line, "the fix is the same program as the repro; change what must be changed"


@rule("KB028", "A program names no file or address outside.")
def reaches_out(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Addresses on the network and other people's folders; loopback, /tmp and /dev/shm are there in every sandbox."""
    outside = re.compile(r"https?://|(?<![\w/])/(?:home|Users|root|work|mnt|data)/")
    for role, block in _blocks(entry):
        for node in program_nodes(block.source):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and outside.search(node.value):
                yield block.line + node.lineno - 1, f"the {role} names {node.value[:60]!r}; make what it needs itself"


@rule(
    "KB029",
    "A program imports what every sandbox has and what the entry requires, unless its folder names an image.",
)
def foreign_import(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Every sandbox has the standard library, torch and numpy; a package of an environment is imported where the entry names it in `requires`.

    An entry about a module that is missing may import it.
    """
    if any(template.type in _IMPORT_ERRORS for _, template in entry_templates(entry)):
        return
    for runnable in entry.runnables:
        modules = modules_required(runnable)
        if runnable.image or (runnable.requires and modules is None):
            continue
        for role, block in runnable.blocks.items():
            for line, package in foreign_imports(block.source):
                if package not in (modules or ()):
                    what = f"the {role} imports {package}, which {'`requires` does not name' if modules else 'the sandbox does not have'}"
                    yield block.line + line - 1, f"{what}; write it with torch alone, or name the package in `requires`"


@rule(
    "KB090",
    "One environment has all packages of `requires`, at versions that it allows, unless no program runs on a CPU.",
)
def missing_requirement(entry: Entry, _corpus: Corpus) -> Iterator[Finding]:
    """Else no run can prove the entry. What needs a GPU may require what its reader has; a folder may have an image or environments of its own."""
    on_cpu = [subject for subject in entry.runnables if subject.device == "cpu" and not (subject.image or subject.os)]
    for what in requirement_faults(on_cpu[0]) if on_cpu else ():
        yield line_of(entry, "requires:"), what
