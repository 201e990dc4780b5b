"""The command line. Each command is a module of this package that is imported only when it is called.

Answers go to standard output, everything else to standard error. Exit status: 0 answered or all well, 1 no entry or something is wrong, 2 usage.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "lookup": "answer a pasted error, or a question",
    "show": "print an entry",
    "list": "list entries by topic, tag or kind",
    "api": "show since when and until when a name exists",
    "fits": "show which releases of packages fit together",
    "mcp": "answer coding assistants over the Model Context Protocol",
    "run": "run an entry's repro and fix in the sandbox",
    "check": "find what is wrong with entries",
    "verify": "prove entries by running their programs in the sandbox",
    "worker": "run the programs of others on this machine, from a queue",
    "env": "build the environments of entries that require packages",
    "new": "begin an entry from a pasted error",
    "misses": "list what readers asked and no entry answers",
    "index": "build the search index",
    "preview": "show an entry as its page will look while it is written",
    "serve": "serve the search page",
    "eval": "measure answers against labelled queries",
    "doctor": "show what is installed and what works here",
    "completion": "print a completion script for bash, zsh or tcsh",
}

_ALLOCATIONS_PER_COLLECTION = 50_000
"""Python looks for cycles after 700 allocations, which a look-up makes a hundred times; nearly all that a command makes it keeps."""

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
    gc.set_threshold(_ALLOCATIONS_PER_COLLECTION)
    argv = sys.argv[1:] if argv is None else list(argv)
    if not _take_folders(argv):
        return 2
    if argv[:1] == ["help"]:
        argv = [*argv[1:2], "--help"]
    if not argv or argv[0] in ("-h", "--help"):
        print(_help())
        return 0
    name, rest = argv[0], argv[1:]
    if name not in COMMANDS:
        return _run_without_command(argv)
    atexit.register(
        gc.freeze
    )  # else Python looks for cycles among all objects before it ends, a seventh of a question's time
    _replace_missing_characters()
    from importlib import import_module

    from kb.startup.untranslated import import_argparse

    import_argparse()
    from kb.cli.common import Failure

    debug = "--debug" in rest
    try:
        command = import_module(f"kb.cli.commands.{name}")
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


def _run_without_command(argv: list[str]) -> int:
    """Print the version or run a program, if the arguments ask for that; else say that there is no such command. Return the exit status."""
    if argv[0] in ("-V", "--version"):
        from kb import __version__

        print(f"kb {__version__}")
        return 0
    if _run_program(argv):
        return 0
    print(_unknown(argv), file=sys.stderr)
    return 2


def _unknown(argv: list[str]) -> str:
    """Return the sentence about a first word that is no command: which command it resembles, or that kb lookup takes an error's words."""
    from difflib import get_close_matches

    name = argv[0]
    if name.endswith(".py"):
        return f"kb: there is no file {name!r}; kb --help lists the commands"
    if near := get_close_matches(name, COMMANDS, 1):
        return f"kb: there is no command {name!r}; did you mean kb {near[0]}?"
    short = name if len(name) <= 40 else name[:40] + "…"
    ask = "" if name.startswith("-") else '; an error\'s words are looked up with kb lookup "…"'
    return f"kb: there is no command {short!r}{ask}; kb --help lists the commands"


def _replace_missing_characters() -> None:
    """Let standard output print ? for a character that its encoding lacks, because an answer with a gap is better than none."""
    from io import TextIOWrapper

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _take_folders(argv: list[str]) -> bool:
    """Move every leading --entries FOLDER from the arguments into KB_ENTRIES; return False, and say why, when one is no folder."""
    while argv and argv[0].partition("=")[0] == "--entries":
        folder = argv.pop(0).partition("=")[2] or (argv.pop(0) if argv else "")
        if not os.path.isdir(folder):  # noqa: PTH112 - no pathlib here: it costs milliseconds
            print(f"kb: --entries takes a folder of entries; {folder!r} is none", file=sys.stderr)
            return False
        os.environ["KB_ENTRIES"] = os.pathsep.join(filter(None, [os.environ.get("KB_ENTRIES"), folder]))
    return True


def _run_program(argv: list[str]) -> bool:
    """Run the program that the arguments name, `train.py …`, `-m package …` or `torchrun …`; False when they name none."""
    module = argv[0] == "-m" and len(argv) > 1
    launcher = argv[0] == "torchrun"
    if not (module or launcher or argv[0].endswith(".py")):
        return False
    from kb.integrations.script_runner import is_script, run_launcher, run_module, run_script

    if not (module or launcher or is_script(argv[0])):
        return False
    if module:
        run_module(argv[1:])
    elif launcher:
        run_launcher(["torch.distributed.run", *argv[1:]])
    else:
        run_script(argv)
    return True


def _help() -> str:
    width = max(map(len, COMMANDS))
    listing = "\n".join(f"  {name:<{width}}  {what}" for name, what in COMMANDS.items())
    return (
        "kb: PyTorch errors, each with a cause and a fix that a sandbox has run.\n\n"
        f"Usage: kb [--entries FOLDER]... COMMAND [ARGUMENTS]\n\nCommands:\n{listing}\n\n"
        f"{_EXAMPLES}\nkb COMMAND --help says more. --entries adds a folder of your own entries to those that ship."
    )
