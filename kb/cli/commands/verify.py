"""kb verify: prove entries by running their programs in the sandbox."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import sandbox
from kb.cli.broker import broker_address
from kb.cli.common import (
    BOLD,
    GREEN,
    RED,
    YELLOW,
    Failure,
    Style,
    add_sandbox_options,
    add_torch_option,
    interpreter_options,
    make_parser,
    ready_index,
    runnables_named,
)
from kb.corpus.diagnostic import display_path
from kb.corpus.entry import DEVICES, Runnable
from kb.corpus.git_changes import GitFailed, changed_since
from kb.corpus.ledger import write_records
from kb.corpus.loader import Corpus, load
from kb.verify.recording import to_record
from kb.verify.report import failure_lines, fault_annotations, junit, review_annotations, table_lines
from kb.verify.results import Run, Verdict
from kb.verify.verifier import RunOptions, verify


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    command = make_parser(
        "verify",
        "Run repro and fix of every case, and every check, in the sandbox, and judge them.",
        "Exit status: 0 at least one passed and none failed, or --changed found none to run; 1 otherwise, 2 usage.",
    )
    command.add_argument(
        "slugs", nargs="*", metavar="SLUG", help="entries, or one case or check as SLUG/NAME (default: all)"
    )
    command.add_argument(
        "--changed", metavar="BASE", help="only entries whose programs or messages differ from this git revision"
    )
    command.add_argument("--device", choices=DEVICES, default="cpu", help="run the cases for this device (default cpu)")
    command.add_argument(
        "--isolation",
        choices=("entry", "corpus"),
        default="entry",
        help="one worker per entry, and fixes changed so that they must fail (default); or one worker for all: only for reviewed entries",
    )
    add_sandbox_options(command)
    command.add_argument("--image", help="the container image")
    add_torch_option(command)
    command.add_argument(
        "--broker",
        default="",
        metavar="URL",
        help="run on the workers of this Redis, KB_BROKER for that of the variable (see kb worker); --torch then says which of them",
    )
    command.add_argument(
        "--jobs", type=int, default=0, metavar="N", help="workers side by side (default: one per core)"
    )
    command.add_argument("--fail-fast", action="store_true", help="stop at the first failure")
    command.add_argument(
        "--record", action="store_true", help="write the ledger: how each came out, and what it printed"
    )
    command.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit file")
    command.add_argument(
        "--format",
        choices=("text", "github"),
        default="text",
        help="github adds annotations of a pull request: faults, and the lines that a reviewer has to read",
    )
    return command


def run(arguments: argparse.Namespace) -> int:
    """Verify; return 0 only when something was proved and nothing failed, or nothing changed and every file is whole."""
    broker = broker_address(arguments.broker) if arguments.broker else ""
    corpus = load()
    for fault in corpus.faults:
        print(fault, file=sys.stderr)
    subjects = _subjects(corpus, arguments)
    if not subjects:
        print(f"no entry's programs differ from {arguments.changed}", file=sys.stderr)
        return 1 if corpus.faults else 0
    options = _options(arguments, broker)
    progress = _Progress(len(subjects))
    cancel = threading.Event()
    previous_handler = signal.signal(signal.SIGINT, lambda *_: cancel.set())
    started = time.monotonic()
    index = ready_index()
    index.sentences = None  # a proof comes out the same whether or not a model of sentences is installed
    try:
        done = verify(corpus, subjects, index, options=options, cancel=cancel, on_verdict=progress)
    except sandbox.SandboxError as error:
        raise Failure(str(error)) from error
    finally:
        signal.signal(signal.SIGINT, previous_handler)
        progress.close()
    _report(done, corpus, time.monotonic() - started)
    _annotate(done, corpus, subjects, arguments.format)
    if arguments.junit:
        junit(done, arguments.junit)
    if arguments.record:
        _record(done, corpus)
    if not done.complete and cancel.is_set() and not arguments.fail_fast:
        return 130
    return 0 if done.proved and not corpus.faults else 1


def _subjects(corpus: Corpus, arguments: argparse.Namespace) -> list[Runnable]:
    if arguments.changed and arguments.slugs:
        raise Failure("--changed chooses the entries itself; leave SLUG out", 2)
    if not arguments.changed:
        return runnables_named(corpus, arguments.slugs)
    try:
        slugs = changed_since(corpus, arguments.changed)
    except GitFailed as error:
        raise Failure(f"git: {error}", 2) from None
    return runnables_named(corpus, slugs) if slugs else []


def _options(arguments: argparse.Namespace, broker: str) -> RunOptions:
    backend, python = arguments.backend, arguments.python
    if not broker:
        backend, python = interpreter_options(arguments)
    elif python or arguments.image or arguments.runtime or arguments.trust_gpu or backend != "auto":
        raise Failure("with --broker the workers choose their sandbox; leave its options out", 2)
    return RunOptions(
        device=arguments.device,
        backend=backend,
        isolation=arguments.isolation,
        jobs=arguments.jobs or os.cpu_count() or 1,
        runtime=arguments.runtime,
        trust_gpu=arguments.trust_gpu,
        python=python,
        image=arguments.image,
        bare=bool(arguments.torch),
        fail_fast=arguments.fail_fast,
        broker=broker,
        torch=arguments.torch or "",
    )


def _report(done: Run, corpus: Corpus, seconds: float) -> None:
    style = Style()
    failed = [verdict for verdict in done.verdicts if verdict.outcome == "failed"]
    for verdict in failed:
        print("\n".join(failure_lines(verdict, display_path(corpus.entries[verdict.subject.entry].path))))
        print()
    print("\n".join(table_lines(done, corpus)))
    where = str(done.environment or "nothing was run")
    state = style("proved", GREEN, BOLD) if done.proved else style("not proved" if not failed else "failed", RED, BOLD)
    print(f"{state}: {where}, {seconds:.1f} s" + ("" if done.complete else style("; stopped before the end", YELLOW)))


def _annotate(done: Run, corpus: Corpus, subjects: Sequence[Runnable], output_format: str) -> None:
    """Print annotations for a code host: faults wherever a workflow runs, lines to read only where they are asked for."""
    if output_format == "github" or os.environ.get("GITHUB_ACTIONS") == "true":
        print("\n".join(fault_annotations(done, corpus)))
    if output_format == "github":
        print("\n".join(review_annotations(subjects, corpus)))


def _record(done: Run, corpus: Corpus) -> None:
    """Write how each case and check that ran came out into the ledger of its entry's folder."""
    by_folder: dict[Path, list[Verdict]] = {}
    for verdict in done.verdicts:
        if verdict.environment:
            by_folder.setdefault(corpus.entries[verdict.subject.entry].path.parent.parent, []).append(verdict)
    for folder, verdicts in by_folder.items():
        there = [runnable for entry in corpus if entry.path.parent.parent == folder for runnable in entry.runnables]
        for path in write_records(folder, {verdict.subject.id: to_record(verdict) for verdict in verdicts}, there):
            print(f"recorded in {display_path(path)}", file=sys.stderr)


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
                f"\r\033[K[{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total}{failed} {verdict.subject.id[:40]}",
                end="",
                file=sys.stderr,
                flush=True,
            )
        elif verdict.outcome == "failed":
            print(f"failed: {verdict.subject.id}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Erase the bar."""
        if self.bar:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
