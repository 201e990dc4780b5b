"""Runs one program as `python -u -W default program.py` would run it, in a process of its own."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import importlib.machinery
import os
import random
import resource
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from sandbox.inside.record import FrameReader

SEED = 0
REPORT_FD = 900  # of the record's pipe: high, so that programs that count descriptors see 0, 1, 2


class ProgramRun:
    """One program: its code, and the ways in which it can end.

    The record that proves how it ended carries a nonce: one for a program that has run past its last statement, another for one that an exception
    ended. The nonces live in the frame of a suspended generator alone. Nothing refers to that generator except the value stack of boot's frame, so
    no frame, closure, module or attribute leads a program to them. Code that searches the memory of its own process (`gc`, `ctypes`) can still find
    them (see docs/sandbox.md).
    """

    def __init__(self, job: dict[str, Any]) -> None:
        self._path = job["path"]
        self._source = job["source"]
        self._nonces = tuple(nonce.encode() for nonce in job.pop("nonces"))
        self._reader = FrameReader(self._path, job.pop("libraries"))

    def guard(self) -> Iterator[tuple[types.CodeType, dict[str, Any]]]:
        """Yield the compiled program and its namespace, once.

        Resumed, it records that the program has finished, and ends the process. Closed, because an exception has unwound boot's frame, it records
        that; what describes the exception follows from `failed`. The functions are bound before the program can replace them.
        """
        (finished, failed), self._nonces = self._nonces, ()
        write, frame, pid, leave = os.write, sys._getframe, os.getpid, _leave
        owner = pid()
        try:
            yield self._program()
        except BaseException:
            if pid() == owner:
                write(REPORT_FD, failed)
            raise
        below = frame(1)
        if pid() == owner and below.f_back is None and below.f_code.co_filename == "<string>":
            write(REPORT_FD, finished)
        leave(0)

    def _program(self) -> tuple[types.CodeType, dict[str, Any]]:
        """Return the compiled program and the namespace of a new `__main__`."""
        for name in [name for name in sys.modules if name.split(".")[0] == "sandbox"]:
            del sys.modules[name]
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        loader = importlib.machinery.SourceFileLoader("__main__", self._path)
        module.__dict__.update(__file__=self._path, __builtins__=builtins, __loader__=loader, __cached__=None)
        return compile(self._source, self._path, "exec", dont_inherit=True), module.__dict__

    def exited(self, exit_request: SystemExit) -> NoReturn:
        """End like `sys.exit(...)`: None is 0, a number is itself, anything else is printed and is 1."""
        code = exit_request.code
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
        _leave((code or 0) & 0xFF)

    def failed(self, error: BaseException, write: Callable[[int, bytes], int] = os.write) -> NoReturn:
        """Record the exception, print the traceback without the harness's own frames, and exit with 1."""
        _without_harness(error)
        try:
            data = self._reader.describe(error)
            while data:
                data = data[write(REPORT_FD, data) :]
        except BaseException as broken:  # the record is missing then, and proves nothing
            del broken
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except SystemExit as exit_request:
            self.exited(exit_request)
        except BaseException as broken:
            _without_harness(broken)
            broken.__context__ = None
            print("Error in sys.excepthook:", file=sys.stderr)
            sys.__excepthook__(type(broken), broken, broken.__traceback__)
            print("\nOriginal exception was:", file=sys.stderr)
            sys.__excepthook__(type(error), error, error.__traceback__)
        _leave(1)


def _without_harness(error: BaseException) -> None:
    while error.__traceback__ and error.__traceback__.tb_frame.f_code.co_filename.startswith(("<string>", "<sandbox.")):
        error.__traceback__ = error.__traceback__.tb_next


def _leave(code: int, end: Callable[[int], NoReturn] = os._exit) -> NoReturn:
    """Join threads, run exit handlers, drop the program's objects, flush, and end the process.

    The interpreter's own teardown does the same and then frees everything that torch has made, which takes 160 ms.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        vars(sys.modules["__main__"]).clear()
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as exit_request:
        code = exit_request.code if isinstance(exit_request.code, int) else 1
    except BaseException:
        code = 120 if code == 0 else code
    end(code & 0xFF)


def prepare(job: dict[str, Any]) -> ProgramRun:
    """Give this process the program's limits, environment, working directory, arguments and seeds; return its run."""
    for name, value in job["rlimits"].items():
        limit = getattr(resource, name, None)
        if limit is not None:
            hard = resource.getrlimit(limit)[1]
            soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
            with contextlib.suppress(ValueError, OSError):  # gVisor keeps no limit on what it does not have
                resource.setrlimit(limit, (soft, soft))
    os.environ.update(job["env"])
    directory = os.path.dirname(job["path"])
    os.chdir(directory)
    sys.argv[:] = [os.path.basename(job["path"])]
    job["libraries"] = [folder for folder in sys.path if folder not in ("", os.getcwd())]
    sys.path[:] = [directory, *job["libraries"]]
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].ORIGINAL_DIR = directory  # type: ignore[attr-defined]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seed()
    return ProgramRun(job)


def seed() -> None:
    """Seed random now; seed numpy and torch now when they are loaded, else when the program imports them."""
    seed_loaded()
    missing = _SEEDERS.keys() - sys.modules.keys()
    if missing:
        sys.meta_path.insert(0, _SeedOnImport(missing))


def seed_loaded() -> None:
    """Seed what is loaded. The first call imports more of numpy and torch, so the worker makes it as well."""
    random.seed(SEED)
    for name, set_seed in _SEEDERS.items():
        if name in sys.modules:
            set_seed(sys.modules[name])


def _seed_torch(module: Any) -> None:
    module.manual_seed(SEED)
    module.set_num_threads(1)


_SEEDERS: dict[str, Callable[[Any], None]] = {
    "numpy": lambda module: module.random.seed(SEED),
    "torch": _seed_torch,
}


class _SeedOnImport:
    """An import hook that finds nothing itself: it lets the path finder find the module, and seeds it once it has been executed."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any = None, _target: Any = None) -> Any:
        if name not in self._names:
            return None
        self._names.discard(name)
        if not self._names:
            sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                execute(module)
                if hasattr(module, "random"):
                    _SEEDERS[name](module)

            loader.exec_module = exec_module
        return spec
