"""kb verify: prove entries by running their programs in the sandbox."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path

import sandbox
from kb.changed import GitFailed, changed_since
from kb.cli.common import (
    BOLD,
    GREEN,
    RED,
    YELLOW,
    Failure,
    Style,
    add_sandbox_options,
    cases_named,
    make_parser,
    ready_index,
)
from kb.corpus import Corpus, load, shown
from kb.entry import Case
from kb.environments import EnvironmentFailed, interpreter
from kb.ledger import record
from kb.report import failure_lines, junit, table_lines, workflow_commands
from kb.verify import Run, Verdict, to_record, verify


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    found = make_parser(
        "verify",
        "Run repro and fix of every case in the sandbox, and judge them.",
        "Exit status: 0 at least one case passed and none failed, or --changed found none to run; 1 otherwise, 2 usage.",
    )
    found.add_argument("slugs", nargs="*", metavar="SLUG", help="entries, or one case as SLUG/CASE (default: all)")
    found.add_argument(
        "--changed", metavar="BASE", help="only entries whose programs or messages differ from this git revision"
    )
    found.add_argument(
        "--device", choices=("cpu", "cuda", "mps"), default="cpu", help="run the cases for this device (default cpu)"
    )
    found.add_argument(
        "--isolation",
        choices=("entry", "corpus"),
        default="entry",
        help="one worker per entry (default), or one for all: only for reviewed entries",
    )
    add_sandbox_options(found)
    found.add_argument("--image", help="the container image")
    found.add_argument(
        "--torch",
        metavar="VERSION",
        help="use a virtual environment with this version of torch, made when it is not there",
    )
    found.add_argument("--jobs", type=int, default=0, metavar="N", help="workers side by side (default: one per core)")
    found.add_argument("--fail-fast", action="store_true", help="stop at the first failure")
    found.add_argument(
        "--record", action="store_true", help="write the ledger: how each case came out, and what it printed"
    )
    found.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit file")
    return found


def run(arguments: argparse.Namespace) -> int:
    """Verify; return 0 only when something was proved and nothing failed, or nothing changed and every file is whole."""
    corpus = load()
    for fault in corpus.faults:
        print(fault, file=sys.stderr)
    cases = _cases(corpus, arguments)
    if not cases:
        print(f"no entry's programs differ from {arguments.changed}", file=sys.stderr)
        return 1 if corpus.faults else 0
    python = _python(arguments)
    progress = _Progress(len(cases))
    cancel = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: cancel.set())
    started = time.monotonic()
    try:
        done = verify(
            corpus,
            cases,
            ready_index(),
            device=arguments.device,
            backend=arguments.backend,
            isolation=arguments.isolation,
            jobs=arguments.jobs or os.cpu_count() or 1,
            runtime=arguments.runtime,
            trust_gpu=arguments.trust_gpu,
            python=python,
            image=arguments.image,
            fail_fast=arguments.fail_fast,
            cancel=cancel,
            on_verdict=progress,
        )
    except sandbox.SandboxError as error:
        raise Failure(str(error)) from error
    finally:
        signal.signal(signal.SIGINT, before)
        progress.close()
    _report(done, corpus, arguments, time.monotonic() - started)
    if arguments.record:
        _record(done, corpus)
    if not done.complete and cancel.is_set() and not arguments.fail_fast:
        return 130
    return 0 if done.proved and not corpus.faults else 1


def _cases(corpus: Corpus, arguments: argparse.Namespace) -> list[Case]:
    if arguments.changed and arguments.slugs:
        raise Failure("--changed chooses the entries itself; leave SLUG out", 2)
    if not arguments.changed:
        return cases_named(corpus, arguments.slugs)
    try:
        slugs = changed_since(corpus, arguments.changed)
    except GitFailed as error:
        raise Failure(f"git: {error}", 2) from None
    return cases_named(corpus, slugs) if slugs else []


def _python(arguments: argparse.Namespace) -> str | None:
    """The interpreter that --torch or --python asks for."""
    if not arguments.torch:
        return arguments.python  # type: ignore[no-any-return]
    if arguments.python or arguments.backend == "docker":
        raise Failure("--torch brings its own interpreter for bubblewrap; leave --python and --backend docker out", 2)
    if arguments.backend == "auto":
        arguments.backend = "bubblewrap"
    try:
        return str(interpreter(arguments.torch, lambda line: print(line, file=sys.stderr, flush=True)))
    except EnvironmentFailed as error:
        raise Failure(str(error)) from None


def _report(done: Run, corpus: Corpus, arguments: argparse.Namespace, seconds: float) -> None:
    style = Style()
    failed = [verdict for verdict in done.verdicts if verdict.outcome == "failed"]
    for verdict in failed:
        print("\n".join(failure_lines(verdict, shown(corpus.entries[verdict.case.entry].path))))
        print()
    print("\n".join(table_lines(done, corpus)))
    where = f"torch {done.environment.torch} in {done.environment.backend}" if done.environment else "nothing was run"
    where += f" on {done.environment.gpu}" if done.environment and done.environment.gpu else ""
    state = style("proved", GREEN, BOLD) if done.proved else style("not proved" if not failed else "failed", RED, BOLD)
    print(f"{state}: {where}, {seconds:.1f} s" + ("" if done.complete else style("; stopped before the end", YELLOW)))
    if arguments.junit:
        junit(done, arguments.junit)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        print("\n".join(workflow_commands(done, corpus)))


def _record(done: Run, corpus: Corpus) -> None:
    """Write how each case that ran came out into the ledger of the folder that its entry comes from."""
    if done.environment is None:
        return
    by_folder: dict[Path, list[Verdict]] = {}
    for verdict in done.verdicts:
        if verdict.outcome != "not run here":
            by_folder.setdefault(corpus.entries[verdict.case.entry].path.parent.parent, []).append(verdict)
    for folder, verdicts in by_folder.items():
        known = [case.id for entry in corpus for case in entry.cases if entry.path.parent.parent == folder]
        for path in record(
            folder, {verdict.case.id: to_record(verdict, done.environment) for verdict in verdicts}, known
        ):
            print(f"recorded in {shown(path)}", file=sys.stderr)


class _Progress:
    """A bar on a terminal, a line per failure elsewhere, both on standard error."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = self.failed = 0
        self.style = Style(sys.stderr)
        self.bar = sys.stderr.isatty()

    def __call__(self, verdict: Verdict) -> None:
        self.done += 1
        self.failed += verdict.outcome == "failed"
        if self.bar:
            filled = 30 * self.done // self.total
            failed = self.style(f" {self.failed} failed", RED) if self.failed else ""
            print(
                f"\r\033[K[{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total}{failed} {verdict.case.id[:40]}",
                end="",
                file=sys.stderr,
                flush=True,
            )
        elif verdict.outcome == "failed":
            print(f"failed: {verdict.case.id}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """End the line that the bar stands in."""
        if self.bar:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
