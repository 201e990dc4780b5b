"""kb new: begin an entry from a pasted error, or from a script that fails."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from kb.answer import lookup
from kb.cli.common import Failure, make_parser, ready_index
from kb.cli.lookup_ import read_text
from kb.corpus import entry_folders, load, shown
from kb.draft import draft


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    found = make_parser(
        "new",
        "Begin an entry from a pasted error: the message becomes a template, what must be written is left empty.",
        "When an entry answers the error already, kb new says which and writes nothing.\nExit status: 0 written, 1 answered already, 2 usage.",
    )
    found.add_argument(
        "text", nargs="*", metavar="TEXT", help="the traceback, a file that holds it, or - for standard input"
    )
    found.add_argument(
        "--from",
        dest="script",
        type=Path,
        metavar="SCRIPT",
        help="run this script in the sandbox and take the traceback from there",
    )
    found.add_argument("--topic", help="the folder (default: that of the nearest entries)")
    found.add_argument("--slug", help="the file's name (default: from the message's words)")
    found.add_argument(
        "--into", type=Path, metavar="FOLDER", help="the folder of entries (default: the first one known)"
    )
    found.add_argument("--force", action="store_true", help="write it although an entry answers the error")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Write the file and say where; or say which entry answers the error."""
    if arguments.script and arguments.text:
        raise Failure("--from takes the traceback from the script; leave TEXT out", 2)
    for option in ("slug", "topic"):
        value = getattr(arguments, option)
        if value and not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value):
            raise Failure(f"--{option} takes lower-case words joined by hyphens, not {value!r}", 2)
    script = _read(arguments.script) if arguments.script else ""
    text = _printed(script) if script else read_text(arguments.text)
    corpus = load()
    answer = lookup(text, index=ready_index())
    if answer.answered:
        entry = corpus.entries[answer.matches[0].id]
        if answer.matches[0].confidence == "exact" and not arguments.force:
            print(shown(entry.path))
            print(f"kb new: {entry.id} answers this already; add what it lacks there, or use --force", file=sys.stderr)
            return 1
        print(f"kb new: look whether {entry.id} does not answer it already: {shown(entry.path)}", file=sys.stderr)
    try:
        begun = draft(answer, corpus, repro=script, topic=arguments.topic or "", slug=arguments.slug or "")
    except ValueError as error:
        raise Failure(str(error), 2) from None
    folder = arguments.into or next(iter(entry_folders()), None)
    if folder is None:
        raise Failure("there is no folder of entries here; name one with --into", 2)
    path = folder / begun.topic / f"{begun.slug}.md"
    if path.exists():
        raise Failure(f"{path} exists; choose another name with --slug", 2)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(begun.text, "utf-8")
    print(shown(path))
    kb = f"kb --entries {arguments.into}" if arguments.into else "kb"
    print(
        f"Fill it in: kb preview {shown(path)} shows its page and what is missing, {kb} verify {begun.slug} proves it.",
        file=sys.stderr,
    )
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: cannot be read ({error})", 2) from None


def _printed(script: str) -> str:
    """What the script printed on standard error, run in the sandbox."""
    import sandbox

    try:
        outcome = sandbox.run([sandbox.Program(script)])[0]
    except sandbox.SandboxError as error:
        raise Failure(str(error)) from error
    if outcome.passed and "Warning" not in outcome.stderr:
        raise Failure("the script ran through without an error or a warning; there is nothing to explain")
    if outcome.ended != "exit":
        raise Failure(f"the script did not end by itself: {outcome.ended} {outcome.detail}".strip())
    return outcome.stderr
