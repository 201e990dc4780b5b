"""`python -m kb train.py ARGS…`: run a program as Python would, and answer what it dies of.

The program gets its own `__main__`, sys.argv and sys.path[0]. What it dies of leaves through Python itself, so that hooks, exit status and signals
are as without kb; only kb's own frames are taken off the traceback, and the answer comes under it.
"""

from __future__ import annotations

import builtins
import io
import os
import sys
from importlib.machinery import SourceFileLoader

from kb.integrations.excepthook import explain, install

__all__ = ["is_script", "run_launcher", "run_module", "run_script"]

_LAUNCHERS = ("torch.distributed.run", "torch.distributed.launch")

_kept: list[object] = []


def is_script(name: str) -> bool:
    """Tell whether the argument names a Python file to run."""
    return name.endswith(".py") and os.path.isfile(name)  # noqa: PTH113 - no pathlib here: it costs milliseconds


def run_script(argv: list[str]) -> None:
    """Run the file argv[0] with these arguments, as `python argv[0] …` does; an exception leaves as it would there."""
    path = os.path.abspath(argv[0])  # noqa: PTH100 - as Python does: links in the file's own name stay
    sys.argv[:] = argv
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - no pathlib here
    scope = _fresh_main()
    scope.update(__file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path))
    try:
        with io.open_code(path) as file:
            source = file.read()
        exec(compile(source, path, "exec", dont_inherit=True), scope)  # noqa: S102 - running it is what was asked
    except BaseException as error:
        _leave(error)
        raise


def run_module(argv: list[str]) -> None:
    """Run the module argv[0] with these arguments, as `python -m argv[0] …` does.

    pytest keeps what tests die of to itself, and torchrun runs the program in other processes, so both are told of kb.
    """
    if argv[0] in _LAUNCHERS:
        run_launcher(argv)
        return
    if argv[0] == "pytest":
        options = os.environ.get("PYTEST_ADDOPTS", "")
        os.environ["PYTEST_ADDOPTS"] = f"{options} -p kb.integrations.pytest_plugin --kb".lstrip()
    import runpy

    sys.argv[:] = ["-m", *argv[1:]]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.getcwd()  # noqa: PTH109 - no pathlib here
    _fresh_main()
    try:
        runpy._run_module_as_main(argv[0])  # type: ignore[attr-defined]  # noqa: SLF001 - what the interpreter itself calls for -m
    except BaseException as error:
        _leave(error)
        raise


def run_launcher(argv: list[str]) -> None:
    """Run the launcher of distributed programs argv[0] with these arguments; each process that it starts answers what it dies of."""
    _fresh_main()
    try:
        from kb.integrations.torchrun import launch

        launch(argv[0], argv[1:])
    except BaseException as error:
        _leave(error, answers=type(error).__name__ != "ChildFailedError")  # the process that failed has answered
        raise


def _fresh_main() -> dict[str, object]:
    """Put a new `__main__` in place of kb's and return its names; the old one is kept, or Python would clear the functions that run here."""
    module = type(sys)("__main__")
    _kept.append(sys.modules["__main__"])
    sys.modules["__main__"] = module
    scope: dict[str, object] = module.__dict__
    scope.update(__builtins__=builtins, __annotations__={})
    install(main_thread=False)
    return scope


def _leave(error: BaseException, *, answers: bool = True) -> None:
    """Make Python, when it meets the exception, call sys.excepthook with a traceback that begins in the program, and then print kb's answer."""
    if isinstance(error, SystemExit):
        return
    program = error.__traceback__.tb_next if error.__traceback__ else None
    if answers:
        _tell_torchrun(error.with_traceback(program))
    hook = sys.excepthook

    def last(kind: type[BaseException], value: BaseException, _traceback: object) -> None:
        sys.excepthook = hook
        sys.last_traceback = program
        hook(kind, value.with_traceback(program), program)
        if answers:
            explain(value, said=True)

    sys.excepthook = last


def _tell_torchrun(error: BaseException) -> None:
    """Write the traceback into the file in which torchrun looks for it, unless the program did, as by `record` of torch.distributed.elastic.

    torchrun calls a process that it started by `-m kb` *kb*. Its report then shows the traceback of the program, instead of advice on how to have one.
    """
    path = os.environ.get("TORCHELASTIC_ERROR_FILE", "")
    try:
        if path and not os.path.exists(path):  # noqa: PTH110 - no pathlib here
            import json
            import time
            import traceback

            printed = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            summary = "".join(traceback.format_exception_only(type(error), error)).rstrip()
            told = {"message": summary, "extraInfo": {"py_callstack": printed, "timestamp": str(int(time.time()))}}
            with open(path, "x", encoding="utf-8") as file:  # noqa: PTH123
                json.dump({"message": told}, file)
    except Exception:  # noqa: BLE001, S110 - a crash is never made worse
        pass
