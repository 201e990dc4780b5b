"""Import argparse without gettext: its texts stay English, and looking for their translations takes two milliseconds of each look-up."""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["import_argparse"]


def import_argparse() -> None:
    """Import argparse, for which a module that leaves every text as it is stands for gettext, unless the process has either of them."""
    if "gettext" in sys.modules or "argparse" in sys.modules:
        return
    sys.modules["gettext"] = _Untranslated("gettext")
    try:
        import argparse  # noqa: F401 - the commands import it
    finally:
        del sys.modules["gettext"]


class _Untranslated(ModuleType):
    @staticmethod
    def gettext(message: str) -> str:
        return message

    @staticmethod
    def ngettext(singular: str, plural: str, number: int) -> str:
        return singular if number == 1 else plural
