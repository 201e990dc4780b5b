"""kb completion: a script that completes commands, options and slugs in a shell."""

from __future__ import annotations

import argparse
from importlib import import_module

from kb.cli import COMMANDS
from kb.cli.common import Failure, make_parser
from kb.index import opened_index


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    found = make_parser(
        "completion",
        "Print a completion script.",
        'bash: eval "$(kb completion bash)"\nzsh:  kb completion zsh > "${fpath[1]}/_kb"',
    )
    found.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    return found


def run(arguments: argparse.Namespace) -> int:
    """Print the script, made by shtab from the commands' own parsers."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise Failure("completion needs shtab: pip install shtab") from None
    index = opened_index()
    slugs = index.slugs() if index else None
    whole = argparse.ArgumentParser(prog="kb")
    commands = whole.add_subparsers()
    for name, what in COMMANDS.items():
        own = import_module(f"kb.cli.{name}_").parser()
        for action in own._actions:  # noqa: SLF001 - argparse has no other way to what a parser takes
            if action.dest in ("slug", "slugs") and action.metavar == "SLUG":
                action.choices = slugs
        commands.add_parser(name, help=what, parents=[own], add_help=False)
    print(shtab.complete(whole, shell=arguments.shell))
    return 0
