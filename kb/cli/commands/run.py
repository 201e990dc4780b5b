"""kb run: an entry's programs, their output as it comes."""

from __future__ import annotations

import argparse
import sys

import sandbox
from kb.cli.common import BOLD, DIM, RED, Failure, Style, add_sandbox_options, make_parser, runnables_named
from kb.corpus.entry import Role, Runnable
from kb.corpus.loader import load
from kb.verify.case_runner import run_case


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    command = make_parser(
        "run",
        "Run the programs of an entry's cases and checks in the sandbox and print what they print.",
        "Exit status: 0 every fix and check ran through, 1 one did not, 2 usage.",
    )
    command.add_argument("slug", metavar="SLUG", help="the entry, or one case or check as SLUG/NAME")
    add_sandbox_options(command)
    return command


def run(arguments: argparse.Namespace) -> int:
    """Run the programs; return 0 when every fix and check ran through."""
    subjects = runnables_named(load(), [arguments.slug])
    try:
        passed = [_passes(subject, arguments) for subject in subjects]
    except sandbox.SandboxError as error:
        raise Failure(str(error)) from error
    return 0 if all(passed) else 1


def _passes(subject: Runnable, arguments: argparse.Namespace) -> bool:
    """Run the programs of a case or a check; return whether the last of them, the fix or the check itself, ran through."""
    printer = _Printer(subject)
    roles = list(subject.blocks)
    printer.announce(roles[0])
    outcomes = run_case(
        subject,
        backend=arguments.backend,
        runtime=arguments.runtime,
        python=arguments.python,
        trust_gpu=arguments.trust_gpu,
        on_output=printer.show,
        on_outcome=printer.end,
    )
    return outcomes[roles[-1]].passed


class _Printer:
    """Prints what the programs of a case or a check print, on the same streams, with a headline and an end for each on standard error."""

    def __init__(self, subject: Runnable) -> None:
        self._subject = subject
        self._style, self._error_style = Style(), Style(sys.stderr)
        self._announced: set[Role] = set()

    def announce(self, role: Role) -> None:
        """Print a program's headline before anything else of it."""
        if role not in self._announced:
            self._announced.add(role)
            print(self._error_style(f"── {role} of {self._subject.id}", BOLD), file=sys.stderr, flush=True)

    def show(self, role: Role, stream: str, text: str) -> None:
        """Print a piece of a program's output."""
        self.announce(role)
        safe = sandbox.printable(text)
        if stream == "stderr":
            print(self._error_style(safe, RED), end="", flush=True, file=sys.stderr)
        else:
            print(self._style(safe), end="", flush=True)

    def end(self, role: Role, outcome: sandbox.Outcome) -> None:
        """Print how a program ended, and how long it took."""
        self.announce(role)
        how = f"exit status {outcome.exit_code}" if outcome.ended == "exit" else outcome.ended
        detail = f" ({outcome.detail})" if outcome.detail else ""
        line = f"   {how}{detail}, {outcome.seconds:.2f} s, {outcome.backend}"
        print(self._error_style(line, DIM), file=sys.stderr)
