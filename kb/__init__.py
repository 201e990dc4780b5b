"""kb: PyTorch errors and pitfalls, each with a cause and a fix that a sandbox has run.

`kb.lookup(text)` answers a pasted traceback; everything else is in the modules. Names are loaded when they are first used, so that importing the
package costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.answer import Answer, lookup
    from kb.corpus import load

__all__ = ["Answer", "__version__", "load", "lookup"]
__version__ = "0.1.0"

_WHERE = {"lookup": "kb.answer", "Answer": "kb.answer", "load": "kb.corpus"}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'kb' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)
