"""Processes of `multiprocessing`: each dies below a traceback that no hook sees.

`BaseProcess` catches what its process dies of and prints it by `traceback.print_exc()`, in every version of Python. So that function is put inside one
that answers when it is `BaseProcess` that calls it. A wrapper around the process's `run` would stand in the reader's traceback.

A process that is forked has that function already. One that is spawned starts with a dictionary that its parent pickles, and installs kb when it
unpickles that. If it cannot, it runs without kb.
"""

from __future__ import annotations

import functools
import sys
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["install_where_spawned", "watch"]


class _Installation:
    """Pickled, and installs kb where it is unpickled."""

    def __init__(self, options: dict[str, bool]) -> None:
        self.options = options

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str]]:
        statement = f"from kb import install; install(**{self.options!r})"
        return exec, (f"try: {statement}\nexcept Exception: pass",)


def watch(answer: Callable[[BaseException | None], None]) -> None:
    """Have `answer` called with what this process dies of, and with what those forked from it do, if multiprocessing runs them."""
    from multiprocessing.process import BaseProcess

    plain = traceback.print_exc
    if hasattr(plain, "_kb"):
        return
    last_resort = BaseProcess._bootstrap.__code__  # type: ignore[attr-defined]  # noqa: SLF001 - only compared

    @functools.wraps(plain)
    def print_exc(*args: Any, **options: Any) -> None:
        plain(*args, **options)
        if sys._getframe(1).f_code is last_resort:  # noqa: SLF001 - the one way to tell who calls
            answer(sys.exc_info()[1])

    print_exc._kb = True  # type: ignore[attr-defined]  # noqa: SLF001 - marks the function as ours
    traceback.print_exc = print_exc


def install_where_spawned(options: Callable[[], dict[str, bool] | None]) -> None:
    """Install kb with these options in each process that is spawned from now on; None says that it is not to be installed."""
    from multiprocessing import spawn

    plain = spawn.get_preparation_data
    if hasattr(plain, "_kb"):
        return

    @functools.wraps(plain)
    def get_preparation_data(*args: Any, **named: Any) -> dict[str, Any]:
        data: dict[str, Any] = plain(*args, **named)
        if (chosen := options()) is not None:
            data["kb"] = _Installation(chosen)
        return data

    get_preparation_data._kb = True  # type: ignore[attr-defined]  # noqa: SLF001 - marks the function as ours
    spawn.get_preparation_data = get_preparation_data
