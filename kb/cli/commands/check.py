"""kb check: find what is wrong with entries."""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from pathlib import Path

from kb.cli.common import Failure, make_parser
from kb.corpus.diagnostic import Diagnostic, display_path, github_annotation
from kb.corpus.files import entry_files, is_there, named_path
from kb.corpus.front_matter import schema
from kb.corpus.git_changes import GitFailed
from kb.corpus.loader import entry_folders, load
from kb.lint.autofix import repair
from kb.lint.linter import check
from kb.lint.rules import all_sentences


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = make_parser(
        "check",
        "Find what is wrong with entries: file:line: rule, what, and what to do.",
        "Exit status: 0 no fault, 1 faults, 2 usage.",
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="entries or folders of them (default: all)")
    parser.add_argument(
        "--format",
        choices=("text", "json", "github"),
        default="text",
        help="for people, programs, or annotations of a pull request",
    )
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="RULE", help="leave a rule out, e.g. KB040 (repeatable)"
    )
    parser.add_argument(
        "--base", default="", metavar="REVISION", help="also report translations left behind since this git revision"
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="first repair what is safe: Chinese typography, related entries that do not lead back",
    )
    listing = parser.add_mutually_exclusive_group()
    listing.add_argument("--rules", action="store_true", help="list the rules")
    listing.add_argument("--schema", action="store_true", help="print the JSON Schema of the front matter, for editors")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print the faults; return 1 when there are any."""
    if arguments.schema:
        print(json.dumps(schema(), indent=2, ensure_ascii=False))
        return 0
    sentences = all_sentences()
    if arguments.rules:
        print("\n".join(f"{name}  {sentence}" for name, sentence in sentences.items()))
        return 0
    if unknown := [name for name in arguments.ignore if name not in sentences]:
        raise Failure(f"there is no rule {unknown[0]}; kb check --rules lists them", 2)
    folders, files = _select(arguments.paths)
    named = {file.stem for file in files} or None
    corpus = load(folders, programs_of=named)
    if not len(corpus) and not corpus.faults:
        raise Failure("no entries found; run it in a checkout, or set KB_ENTRIES to a folder of entries", 2)
    if arguments.fix:
        for path in repair(corpus, set(files) or None):
            print(f"repaired {display_path(path)}", file=sys.stderr)
        corpus = load(folders, programs_of=named)
    gc.freeze()  # what was loaded stays: looking through it for garbage would take a third of the time of all rules
    try:
        faults = check(corpus, files, arguments.ignore, arguments.base, processes=os.cpu_count() or 1)
    except GitFailed as error:
        raise Failure(f"git: {error}", 2) from None
    _report(faults, arguments.format)
    count = len(files) or len(corpus) + len({fault.path for fault in corpus.faults})
    if arguments.format == "text":
        result = f"{len(faults)} fault{'s' * (len(faults) != 1)}" if faults else "no fault"
        print(f"{count} {'entry' if count == 1 else 'entries'} checked, {result}", file=sys.stderr)
    return 1 if faults else 0


def _select(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """Return the folders to load and the files to check, none for all; a file outside the known folders brings its own folder along."""
    folders = list(entry_folders())
    known = {named_path(file) for folder in folders for file in entry_files(folder)} if paths else set()
    files: list[Path] = []
    for path in map(named_path, paths):
        if not is_there(path):
            raise Failure(f"{path}: there is no such file or folder", 2)
        selected = [file for file in known if file == path or file.is_relative_to(path)] or _unknown_entries(path)
        if not selected:
            raise Failure(f"{path}: an entry's file is <folder of entries>/<topic>/<slug>.md", 2)
        files += selected
        folders += sorted({file.parent.parent for file in selected if file not in known} - set(folders))
    return folders, files


def _unknown_entries(path: Path) -> list[Path]:
    """Return the entries' files that a path outside the known folders means: one, those of a topic, or those of a folder of entries."""
    if path.is_dir():
        return entry_files(path) or [file for file in entry_files(path.parent) if file.parent == path]
    return [path] if path in entry_files(path.parent.parent) else []


def _report(faults: list[Diagnostic], form: str) -> None:
    if form == "json":
        rows = [{"path": fault.path, "line": fault.line, "rule": fault.rule, "what": fault.what} for fault in faults]
        print(json.dumps(rows, ensure_ascii=False))
    for fault in faults:
        if form == "text":
            print(fault)
        elif form == "github":
            print(github_annotation("error", fault.path, fault.line, fault.rule, fault.what))
