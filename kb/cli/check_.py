"""kb check: find what is wrong with entries."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from kb.changed import GitFailed
from kb.check import check
from kb.cli.common import Failure, make_parser
from kb.corpus import entry_files, entry_folders, load, shown
from kb.entry import Fault
from kb.fix import repair
from kb.parse import schema
from kb.rules import all_sentences


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    found = make_parser(
        "check",
        "Find what is wrong with entries: file:line: rule, what, and what to do.",
        "Exit status: 0 no fault, 1 faults, 2 usage.",
    )
    found.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="entries or folders of them (default: all)")
    found.add_argument(
        "--format",
        choices=("text", "json", "github"),
        default="text",
        help="for people, programs, or annotations of a pull request",
    )
    found.add_argument(
        "--ignore", action="append", default=[], metavar="RULE", help="leave a rule out, e.g. KB040 (repeatable)"
    )
    found.add_argument(
        "--base", default="", metavar="REVISION", help="also report translations left behind since this git revision"
    )
    found.add_argument(
        "--fix",
        action="store_true",
        help="first repair what is safe: Chinese typography, related entries that do not lead back",
    )
    other = found.add_mutually_exclusive_group()
    other.add_argument("--rules", action="store_true", help="list the rules")
    other.add_argument("--schema", action="store_true", help="print the JSON Schema of the front matter, for editors")
    return found


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
    folders, paths = _find(arguments.paths)
    corpus = load(folders)
    if not len(corpus) and not corpus.faults:
        raise Failure("no entries found; run it in a checkout, or set KB_ENTRIES to a folder of entries", 2)
    if arguments.fix:
        for path in repair(corpus, {path.resolve() for path in paths} or None):
            print(f"repaired {shown(path)}", file=sys.stderr)
        corpus = load(folders)
    try:
        faults = check(corpus, paths, arguments.ignore, arguments.base)
    except GitFailed as error:
        raise Failure(f"git: {error}", 2) from None
    _report(faults, arguments.format)
    count = len(paths) or len(corpus) + len({fault.path for fault in corpus.faults})
    if arguments.format == "text":
        found = f"{len(faults)} fault{'s' * (len(faults) != 1)}" if faults else "no fault"
        print(f"{count} {'entry' if count == 1 else 'entries'} checked, {found}", file=sys.stderr)
    return 1 if faults else 0


def _find(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """The folders to load and the files to judge; a file outside the known folders brings its own folder along."""
    folders = list(entry_folders())
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise Failure(f"{path}: there is no such file or folder", 2)
        found = [path] if path.is_file() else sorted(path.rglob("*.md"))
        files += [file for file in found if file.name != "SEEDS.md"]
        for file in found:
            home = file.resolve().parent.parent
            if home not in [folder.resolve() for folder in folders] and file.resolve() in entry_files(home):
                folders.append(home)
    return folders, files


def _report(faults: list[Fault], form: str) -> None:
    if form == "json":
        print(
            json.dumps(
                [{"path": fault.path, "line": fault.line, "rule": fault.rule, "what": fault.what} for fault in faults],
                ensure_ascii=False,
            )
        )
    for fault in faults:
        if form == "text":
            print(fault)
        elif form == "github":
            print(f"::error file={fault.path},line={fault.line},title={fault.rule}::{fault.what}")
