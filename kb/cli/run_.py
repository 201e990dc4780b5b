"""kb run: an entry's two programs, their output as it comes."""

from __future__ import annotations

import argparse
import sys

import sandbox
from kb.cli.common import BOLD, DIM, RED, Failure, Style, add_sandbox_options, cases_named, make_parser
from kb.corpus import load
from kb.entry import Case
from kb.run import ROLES, run_case


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    found = make_parser(
        "run",
        "Run an entry's repro and fix in the sandbox and print what they print.",
        "Exit status: 0 every fix ran through, 1 one did not, 2 usage.",
    )
    found.add_argument("slug", metavar="SLUG", help="the entry, or one case as SLUG/CASE")
    add_sandbox_options(found)
    return found


def run(arguments: argparse.Namespace) -> int:
    """Run the programs; return 0 when every fix ran through."""
    cases = cases_named(load(), [arguments.slug])
    try:
        good = [_run(case, arguments) for case in cases]
    except sandbox.SandboxError as error:
        raise Failure(str(error)) from error
    return 0 if all(good) else 1


def _run(case: Case, arguments: argparse.Namespace) -> bool:
    """Run one case; tell whether its fix ran through."""
    style, errors = Style(), Style(sys.stderr)
    announced: list[str] = []

    def announce(role: str) -> None:
        if role not in announced:
            announced.append(role)
            print(errors(f"── {role} of {case.id}", BOLD), file=sys.stderr, flush=True)

    def show(role: str, stream: str, text: str) -> None:
        announce(role)
        safe = sandbox.printable(text)
        error = stream == "stderr"
        print(errors(safe, RED) if error else style(safe), end="", flush=True, file=sys.stderr if error else sys.stdout)

    def ended(role: str, outcome: sandbox.Outcome) -> None:
        announce(role)
        how = f"exit status {outcome.exit_code}" if outcome.ended == "exit" else outcome.ended
        detail = f" ({outcome.detail})" if outcome.detail else ""
        print(errors(f"   {how}{detail}, {outcome.seconds:.2f} s, {outcome.backend}", DIM), file=sys.stderr)

    announce(ROLES[0])
    outcomes = run_case(
        case,
        backend=arguments.backend,
        runtime=arguments.runtime,
        python=arguments.python,
        trust_gpu=arguments.trust_gpu,
        on_output=show,
        on_outcome=ended,
    )
    return outcomes[1].passed
