"""The command line. Each command is a module of this package that is imported only when it is called.

Answers go to standard output, everything else to standard error. Exit status: 0 answered or all well, 1 no entry or something is wrong, 2 usage.
"""

from __future__ import annotations

import os
import sys

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "lookup": "answer a pasted error, or a question",
    "show": "print an entry",
    "list": "list entries by topic, tag or kind",
    "mcp": "answer coding assistants over the Model Context Protocol",
    "run": "run an entry's repro and fix in the sandbox",
    "check": "find what is wrong with entries",
    "verify": "prove entries by running their programs in the sandbox",
    "new": "begin an entry from a pasted error",
    "misses": "list what readers asked and no entry answers",
    "index": "build the search index",
    "preview": "show an entry as its page will look while it is written",
    "serve": "serve the search page",
    "eval": "measure answers against labelled queries",
    "doctor": "show what is installed and what works here",
    "completion": "print a completion script for bash, zsh or tcsh",
}

_EXAMPLES = """\
Three ways to ask:
  kb lookup "Expected more than 1 value per channel when training"
  python train.py 2>&1 | kb lookup -
  kb lookup --lang zh 显存一直涨
Or let it answer what a program dies of:
  python -m kb train.py --epochs 3
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit status."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if not _folders_taken(argv):
        return 2
    if argv[:1] == ["help"]:
        argv = [*argv[1:2], "--help"]
    if not argv or argv[0] in ("-h", "--help"):
        print(_help())
        return 0
    name, rest = argv[0], argv[1:]
    if name not in COMMANDS:
        return _other(argv)
    _show_what_can_be_shown()
    from importlib import import_module

    from kb.cli.common import Failure

    debug = "--debug" in rest
    try:
        command = import_module(f"kb.cli.{name}_")
        arguments = command.parser().parse_args([word for word in rest if word != "--debug"])
        status: int = command.run(arguments)
        sys.stdout.flush()
    except Failure as failure:
        if debug:
            raise
        print(f"kb {name}: {failure}", file=sys.stderr)
        return failure.status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    except Exception as error:
        if debug:
            raise
        print(f"kb {name}: {type(error).__name__}: {error}; run it again with --debug for the stack", file=sys.stderr)
        return 1
    return status


def _other(argv: list[str]) -> int:
    """Do what arguments that begin with no command ask for: the version, or a program's run; else say that there is no such command."""
    if argv[0] in ("-V", "--version"):
        from kb import __version__

        print(f"kb {__version__}")
        return 0
    if _program_run(argv):
        return 0
    print(_unknown(argv), file=sys.stderr)
    return 2


def _unknown(argv: list[str]) -> str:
    """Return what to say of a first word that is no command: which one it resembles, or that an error's words belong to kb lookup."""
    from difflib import get_close_matches

    name = argv[0]
    if name.endswith(".py"):
        return f"kb: there is no file {name!r}; kb --help lists the commands"
    if near := get_close_matches(name, COMMANDS, 1):
        return f"kb: there is no command {name!r}; did you mean kb {near[0]}?"
    short = name if len(name) <= 40 else name[:40] + "…"
    ask = "" if name.startswith("-") else '; an error\'s words are looked up with kb lookup "…"'
    return f"kb: there is no command {short!r}{ask}; kb --help lists the commands"


def _show_what_can_be_shown() -> None:
    """Let standard output print ? for a character that its encoding lacks: an answer with a gap is better than none."""
    from io import TextIOWrapper

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _folders_taken(argv: list[str]) -> bool:
    """Take every leading --entries FOLDER from the arguments into KB_ENTRIES; False, with a word to the user, when one is no folder."""
    while argv and argv[0].partition("=")[0] == "--entries":
        folder = argv.pop(0).partition("=")[2] or (argv.pop(0) if argv else "")
        if not os.path.isdir(folder):  # noqa: PTH112 - no pathlib here: it costs milliseconds
            print(f"kb: --entries takes a folder of entries; {folder!r} is none", file=sys.stderr)
            return False
        os.environ["KB_ENTRIES"] = os.pathsep.join(filter(None, [os.environ.get("KB_ENTRIES"), folder]))
    return True


def _program_run(argv: list[str]) -> bool:
    """Run the program that the arguments name, `train.py …` or `-m package …`; False when they name none."""
    module = argv[0] == "-m" and len(argv) > 1
    if not module and not argv[0].endswith(".py"):
        return False
    from kb.script import is_script, run_module, run_script

    if not module and not is_script(argv[0]):
        return False
    if module:
        run_module(argv[1:])
    else:
        run_script(argv)
    return True


def _help() -> str:
    width = max(map(len, COMMANDS))
    listing = "\n".join(f"  {name:<{width}}  {what}" for name, what in COMMANDS.items())
    return (
        "kb: PyTorch errors, each with a cause and a fix that a sandbox has run.\n\n"
        f"Usage: kb [--entries FOLDER]... COMMAND [ARGUMENTS]\n\nCommands:\n{listing}\n\n"
        f"{_EXAMPLES}\nkb COMMAND --help tells more of each. --entries adds a folder of your own entries to those that ship."
    )
