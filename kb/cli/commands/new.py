"""kb new: begin an entry from a pasted error, or from a script that fails."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kb.authoring.scaffold import Draft, draft
from kb.cli.commands.lookup import read_text
from kb.cli.common import Failure, make_parser, ready_index
from kb.corpus.diagnostic import display_path
from kb.corpus.entry import is_slug
from kb.corpus.environments import environment_importing
from kb.corpus.files import is_there
from kb.corpus.loader import Corpus, entry_folders, load
from kb.corpus.programs import ProgramError, foreign_imports
from kb.search.answer import Answer
from kb.search.lookup import lookup
from kb.verify.environments import installation, not_built
from sandbox.builds import is_built
from sandbox.environments import Installation


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = make_parser(
        "new",
        "Begin an entry from a pasted error: the message becomes a template, what must be written is left empty.",
        "When an entry answers the error already, kb new says which and writes nothing.\nExit status: 0 written, 1 answered already, 2 usage.",
    )
    parser.add_argument(
        "text", nargs="*", metavar="TEXT", help="the traceback, a file that holds it, or - for standard input"
    )
    parser.add_argument(
        "--from",
        dest="script",
        type=Path,
        metavar="SCRIPT",
        help="run this script in the sandbox and take the traceback from there",
    )
    parser.add_argument("--topic", help="the folder (default: that of the nearest entries)")
    parser.add_argument("--slug", help="the file's name (default: from the message's words)")
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="the folder of entries (default: the first one known)"
    )
    parser.add_argument("--force", action="store_true", help="write it although an entry answers the error")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Write the file and print its path; or print which entry answers the error."""
    if arguments.script and arguments.text:
        raise Failure("--from takes the traceback from the script; leave TEXT out", 2)
    for option in ("slug", "topic"):
        value = getattr(arguments, option)
        if value and not is_slug(value):
            what = f"--{option} takes lower-case words joined by hyphens, at most 80 characters"
            raise Failure(f"{what}, not {value!r}", 2)
    script = _read(arguments.script) if arguments.script else ""
    place, requires = _environment(script, arguments)
    text = _printed(script, place) if script else read_text(arguments.text)
    corpus = load(programs_of=())
    answer = lookup(text, index=ready_index())
    if script and not arguments.force:
        _refuse_missing_package(script, answer)
    if answer.answered and not arguments.force and _is_answered(answer, corpus):
        return 1
    try:
        begun = draft(
            answer, corpus, repro=script, topic=arguments.topic or "", slug=arguments.slug or "", requires=requires
        )
    except ValueError as error:
        raise Failure(str(error), 2) from None
    _write(begun, arguments.into)
    return 0


def _is_answered(answer: Answer, corpus: Corpus) -> bool:
    """Print which entry answers the error, and return whether it does so exactly."""
    best = answer.matches[0]
    entry = corpus.get(best.id)
    path = display_path(entry.path) if entry else best.id
    if best.evidence.is_whole:
        print(path)
        print(f"kb new: {best.id} answers this already; add what it lacks there, or use --force", file=sys.stderr)
        return True
    print(f"kb new: look whether {best.id} does not answer it already: {path}", file=sys.stderr)
    return False


def _write(begun: Draft, into: Path | None) -> None:
    """Write the file, print its path, and on standard error what to do next."""
    folder = into or next(iter(entry_folders()), None)
    if folder is None:
        raise Failure("there is no folder of entries here; name one with --into", 2)
    path = folder / begun.topic / f"{begun.slug}.md"
    if is_there(path):
        raise Failure(f"{path} exists; choose another name with --slug", 2)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(begun.text, "utf-8")
    shown = display_path(path)
    print(shown)
    kb = f"kb --entries {into}" if into else "kb"
    preview = f"kb preview {shown} shows its page and what is missing"
    print(f"Fill it in: {preview}, {kb} verify {begun.slug} proves it.", file=sys.stderr)


def _refuse_missing_package(script: str, answer: Answer) -> None:
    """Raise `Failure` when the script ended because a package that it imports is missing in the sandbox: that error is not the one meant."""
    if not answer.errors or answer.errors[0].type not in ("ModuleNotFoundError", "ImportError"):
        return
    try:
        missing = {package for _, package in foreign_imports(script)}
    except ProgramError:
        return
    if named := sorted(package for package in missing if package in answer.errors[0].message):
        raise Failure(
            f"the script needs {', '.join(named)}, which no environment has (kb env list), and ended there: write it with torch alone, or paste "
            "the traceback that you get (kb new - < log.txt); docs/own-entries.md says how a folder of entries has an environment of its own"
        )


def _environment(script: str, arguments: argparse.Namespace) -> tuple[Installation | None, tuple[str, ...]]:
    """Return where a script runs that imports more than torch and numpy, and what its entry requires; nothing where no environment has all of it."""
    try:
        modules = {module for _, module in foreign_imports(script)}
    except ProgramError:
        return None, ()
    known = environment_importing(modules, [*filter(None, [arguments.into]), *entry_folders()]) if modules else None
    if known is None:
        return None, ()
    environment, requires = known
    print(f"kb new: the script runs in the environment {environment.name}", file=sys.stderr)
    return installation(environment), requires


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: cannot be read ({error})", 2) from None


def _printed(script: str, place: Installation | None) -> str:
    """Run the script in the sandbox and return what it printed on standard error."""
    import sandbox

    try:
        backend = sandbox.choose().name
        if place and not is_built(place, backend):
            raise Failure(not_built(place.environment))
        preload = place.environment.preloads(place.environment.packages) if place else ()
        program = sandbox.Program(script, preload=preload)
        outcome = sandbox.run([program], backend=backend, environment=place)[0]
    except sandbox.SandboxError as error:
        raise Failure(str(error)) from error
    if outcome.passed and "Warning" not in outcome.stderr:
        raise Failure("the script ran through without an error or a warning; there is nothing to explain")
    if outcome.ended != "exit":
        raise Failure(f"the script did not end by itself: {outcome.ended} {outcome.detail}".strip())
    return outcome.stderr
