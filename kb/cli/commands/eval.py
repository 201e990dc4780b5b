"""kb eval: measure answers against labelled queries."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from kb.cli.common import Failure, make_parser
from kb.search.evaluation import evaluate, format_report


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = make_parser(
        "eval",
        "Measure answers against labelled queries.",
        'FILE has one JSON object a line: {"text", "slug" (NONE: no entry answers it; MISSING: there should be one), "missing" (its name), '
        '"also_ok" (other right slugs), "lang", "form", "ecosystem"}.',
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a JSON Lines file")
    parser.add_argument("--failures", action="store_true", help="list the queries that were answered wrongly, and why")
    parser.add_argument("--json", action="store_true", help="print figures and failures as JSON")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print the figures."""
    try:
        report = evaluate(arguments.file)
    except OSError as error:
        raise Failure(f"{arguments.file}: {error.strerror}", 2) from error
    except ValueError as error:
        raise Failure(str(error), 2) from error
    print(
        json.dumps(report.to_dict(), ensure_ascii=False)
        if arguments.json
        else format_report(report, failures=arguments.failures)
    )
    return 0
