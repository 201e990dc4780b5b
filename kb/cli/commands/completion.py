"""kb completion: a script that completes commands, options and slugs in a shell."""

from __future__ import annotations

import argparse
from importlib import import_module

from kb.cli import COMMANDS
from kb.cli.common import Failure, make_parser
from kb.index.manager import open_existing_index


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = make_parser(
        "completion",
        "Print a completion script.",
        'bash: eval "$(kb completion bash)"\nzsh:  kb completion zsh > "${fpath[1]}/_kb"',
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print the script, made by shtab from the commands' own parsers."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise Failure("completion needs shtab: pip install shtab") from None
    index = open_existing_index()
    slugs = index.slugs() if index else None
    kb = argparse.ArgumentParser(prog="kb")
    commands = kb.add_subparsers()
    for name, what in COMMANDS.items():
        command = import_module(f"kb.cli.commands.{name}").parser()
        for action in command._actions:  # noqa: SLF001 - argparse has no other way to what a parser takes
            if action.dest in ("slug", "slugs") and action.metavar == "SLUG":
                action.choices = slugs
        commands.add_parser(name, help=what, parents=[command], add_help=False)
    print(shtab.complete(kb, shell=arguments.shell))
    return 0
