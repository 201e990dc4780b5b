"""kb misses: what readers asked and kb could not answer, most wanted first."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from kb.cli.common import BOLD, DIM, Failure, Style, make_parser

if TYPE_CHECKING:
    from webapp.feedback import FeedbackStore


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = make_parser(
        "misses",
        "List what to write next: errors that readers of the search page asked and no entry answers, most wanted first.",
        "The server keeps them, as normalized messages and counts alone, if KB_WEB_MISSES names a file or redis.\n"
        "kb new begins an entry from one.",
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="the file they are kept in, or redis for that of KB_REDIS (default: KB_WEB_MISSES)",
    )
    parser.add_argument("-n", type=int, default=20, metavar="N", help="at most this many (default 20)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--helped", action="store_true", help="list the entries that did not help, most often first")
    what.add_argument(
        "--causes", action="store_true", help="list the causes that were not the reader's, most often first"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print the list; an empty one is no failure."""
    if arguments.n < 1:
        raise Failure("-n takes a number from 1 on", 2)
    feedback = _feedback(arguments.file)
    try:
        if arguments.helped:
            rows = [
                {"entry": entry, "helped": helped, "not_helped": not_helped}
                for entry, helped, not_helped in feedback.votes()
            ]
        elif arguments.causes:
            rows = [
                {"entry": entry, "cause": cause, "not_helped": count}
                for entry, cause, count in feedback.refused_causes()
            ]
        else:
            rows = [{"message": message, "count": count} for message, count in feedback.misses()]
    except OSError as error:
        raise Failure(str(error), 2) from None
    rows = rows[: arguments.n]
    if arguments.json:
        print(json.dumps(rows, ensure_ascii=False))
        return 0
    style = Style()
    for row in rows:
        if arguments.helped:
            print(f"{row['not_helped']:6}  {style(str(row['entry']), BOLD)}  {style('helped', DIM)} {row['helped']}")
        elif arguments.causes:
            print(f"{row['not_helped']:6}  {style(str(row['entry']), BOLD)}  {style('cause', DIM)} {row['cause']}")
        else:
            print(f"{row['count']:6}  {row['message']}")
    return 0


def _feedback(file: str | None) -> FeedbackStore:
    """Return the counts in a file, or those that the server's settings name."""
    from webapp.feedback import open_feedback
    from webapp.settings import SettingError, from_environment

    try:
        settings = from_environment()
        place = file or str(settings["MISSES"])
        if place:
            return open_feedback(place, str(settings["REDIS"]))
    except SettingError as error:
        raise Failure(str(error), 2) from None
    raise Failure("no misses are kept: set KB_WEB_MISSES to a file, for the server and here, or name the file", 2)
