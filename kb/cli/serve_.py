"""kb serve: serve the search page."""

from __future__ import annotations

import argparse
import ipaddress
import sys

from kb.cli.common import Failure, make_parser


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    found = make_parser("serve", "Serve the search page.")
    found.add_argument("--host", default="127.0.0.1", help="the address to listen at (default 127.0.0.1)")
    found.add_argument("--port", type=int, default=8000, help="the port (default 8000)")
    found.add_argument(
        "--allow-run",
        action="store_true",
        help="let visitors run the stored entries in the docker or bubblewrap sandbox",
    )
    return found


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    try:
        from webapp import serve
    except ModuleNotFoundError as error:
        raise Failure(f"the page needs {error.name}: pip install 'kb-torch[web]'") from error
    if not _loopback(arguments.host):
        print(
            f"kb serve: {arguments.host} can be reached from other machines; put a proxy with TLS in front of it",
            file=sys.stderr,
        )
    try:
        serve(arguments.host, arguments.port, allow_run=arguments.allow_run)
    except OSError as error:
        raise Failure(
            f"cannot listen on {arguments.host}:{arguments.port} ({error.strerror}); choose another with --port"
        ) from error
    return 0


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
