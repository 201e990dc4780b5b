"""kb mcp: serve look-ups to coding assistants over the Model Context Protocol."""

from __future__ import annotations

import argparse

from kb.cli.common import Failure, make_parser


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    return make_parser(
        "mcp",
        "Answer coding assistants over the Model Context Protocol, on standard input and output: tools lookup and show.",
        'Register it with the assistant as the command "kb mcp"; docs/terminal.md shows how.',
    )


def run(_arguments: argparse.Namespace) -> int:
    """Serve until standard input ends."""
    try:
        from kb.integrations.mcp_server import server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise Failure("it needs the MCP SDK: pip install 'kb-torch[mcp]'") from None
    server.run("stdio")
    return 0
