"""kb serve: serve the search page."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from kb.cli.common import Failure, make_parser


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    command = make_parser(
        "serve", "Serve the search page.", "Settings come from KB_WEB_… variables; docs/web.md lists them."
    )
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (default 127.0.0.1)")
    command.add_argument("--port", type=int, default=8000, help="the port (default 8000)")
    command.add_argument(
        "--allow-run",
        action="store_true",
        help="let readers run the stored entries in the docker or bubblewrap sandbox",
    )
    return command


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    try:
        from webapp.server import ServeError, serve
        from webapp.settings import SettingError
    except ModuleNotFoundError as error:
        raise Failure(f"the page needs {error.name}: pip install 'kb-torch[web]'") from error
    config: dict[str, Any] = {}
    if arguments.allow_run:
        config["RUN"] = True
    if sys.stderr.isatty() and "KB_WEB_LOG" not in os.environ:
        config["LOG"] = "text"
    try:
        serve(arguments.host, arguments.port, config)
    except (ServeError, SettingError) as error:
        raise Failure(str(error)) from error
    return 0
