"""The address of the broker, which `kb worker` and `kb verify` take. It may hold a password, so it does not stay on the command line."""

from __future__ import annotations

import os
import sys

from kb.cli.common import Failure
from sandbox.redis_address import AddressError, check_address

__all__ = ["VARIABLE", "broker_address"]

VARIABLE = "KB_BROKER"


def broker_address(given: str) -> str:
    """Return the address that `--broker` gives: itself, or for the word KB_BROKER what that variable holds. Raises `Failure`.

    An address on the command line of this process is moved into the variable and the command started again, because `ps` shows a command line, those of
    all forked children too, to every user.
    """
    url = os.environ.get(VARIABLE, "") if given == VARIABLE else given
    if not url:
        raise Failure(f"name the broker with --broker redis://HOST:PORT/0, or in {VARIABLE}", 2)
    try:
        check_address(url)
    except AddressError as error:
        raise Failure(f"{VARIABLE if given == VARIABLE else '--broker'}: {error}", 2) from None
    words = sys.orig_argv[1:]
    if "@" in url and any(url in word for word in words):
        hidden = [word.replace(url, VARIABLE) for word in words]
        os.execve(sys.executable, [sys.executable, *hidden], os.environ | {VARIABLE: url})  # noqa: S606 - this very command
    return url
