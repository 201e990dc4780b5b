"""The answer under the traceback of a program that dies: `kb.install()` sets it up through sys.excepthook and threading.excepthook.

Processes of multiprocessing call neither; kb.integrations.processes has them answer. A crash is never made worse: whatever fails here fails in silence,
and until something dies nothing but this module is loaded.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["explain", "install", "uninstall"]

_STARTERS = frozenset(f"multiprocessing.popen_{method}" for method in ("spawn_posix", "spawn_win32", "forkserver"))
"""The modules that multiprocessing imports when it is to spawn a process."""

_on = False
_at_start = False
_options: dict[str, bool] = {}
_before: dict[Callable[..., Any], Callable[..., Any]] = {}


def install(*, main_thread: bool = True, warnings: bool = False, logging: bool = False) -> None:
    """Print kb's answer under the traceback of every uncaught exception, after what was installed before has had its turn.

    Without `main_thread` only those of other threads are answered. With `warnings` a warning that an entry explains is answered where it is shown, and
    with `logging` a traceback that is logged, as by `logging.exception`.
    """
    global _on, _at_start  # noqa: PLW0603 - one process has one excepthook
    import threading

    _on = True
    _options.update(main_thread=main_thread, warnings=warnings, logging=logging)
    if not _at_start:
        _at_start = True
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_watch)
        if _STARTERS.isdisjoint(sys.modules):
            sys.meta_path.insert(0, _BeforeSpawning())
        else:
            _hand_on()
    if _is_spawned():
        _watch()
    if main_thread and sys.excepthook not in _before:
        sys.excepthook = _after(sys.excepthook, lambda _type, error, _traceback: error)
    if threading.excepthook not in _before:
        threading.excepthook = _after(threading.excepthook, lambda args: args.exc_value)
    if warnings or logging:
        from kb.integrations import handled_errors

        handled_errors.install(warnings=warnings, logging=logging)


def uninstall() -> None:
    """Take the hooks away again; where others were put around them they stay, and do nothing."""
    global _on  # noqa: PLW0603
    import threading

    _on = False
    sys.excepthook = _before.pop(sys.excepthook, sys.excepthook)
    threading.excepthook = _before.pop(threading.excepthook, threading.excepthook)
    if handled_errors := sys.modules.get("kb.integrations.handled_errors"):
        handled_errors.uninstall()


def explain(error: object, *, said: bool = False) -> None:
    """Print the answer to an uncaught exception on standard error, once for each entry; print nothing where there is none, unless it is to be `said`."""
    try:
        if not isinstance(error, Exception) or getattr(error, "_kb_explained", False) or sys.stderr is None:
            return
        error._kb_explained = True  # type: ignore[attr-defined]  # noqa: SLF001 - an exception may pass more than one hook
        from kb.integrations.crash_answer import print_answer

        print_answer(error, said=said)
    except BaseException:  # noqa: BLE001, S110 - a crash is never made worse
        pass


class _BeforeSpawning:
    """A finder that finds nothing: it learns from an import that multiprocessing is about to spawn its first process."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name in _STARTERS:
            _hand_on()


def _hand_on() -> None:
    """Install kb in processes that multiprocessing spawns, wherever the program installs it and also if `python -m kb` does."""
    try:
        from kb.integrations.processes import install_where_spawned

        install_where_spawned(lambda: _options if _on else None)
    except Exception:  # noqa: BLE001, S110 - a program is never made worse
        pass


def _is_spawned() -> bool:
    """Return whether multiprocessing has spawned this process and is importing its program now."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and hasattr(process.current_process(), "_inheriting")


def _watch() -> None:
    """Answer what this process dies of, if multiprocessing has just started it."""
    if _on and "multiprocessing.util" in sys.modules:
        try:
            from kb.integrations.processes import watch

            watch(lambda error: explain(error) if _on else None)
        except Exception:  # noqa: BLE001, S110 - a program is never made worse
            pass


def _after(previous: Callable[..., Any], error_of: Callable[..., object]) -> Callable[..., Any]:
    """Return a hook that calls the previous one and then explains the error."""

    def hook(*args: Any) -> None:
        try:
            previous(*args)
        finally:
            if _on:
                explain(error_of(*args))

    _before[hook] = previous
    return hook
