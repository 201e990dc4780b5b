"""kb: PyTorch errors and pitfalls, each with a cause and a fix that a sandbox has run.

`kb.lookup(text)` answers a pasted traceback; `kb.install()` answers whatever this program dies of, and `%load_ext kb` does so in a notebook.
Everything else is in the modules. Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.answer import Answer, lookup
    from kb.corpus import load
    from kb.hook import install, uninstall
    from kb.ipython import load_ipython_extension, unload_ipython_extension

__all__ = [
    "Answer",
    "__version__",
    "install",
    "load",
    "load_ipython_extension",
    "lookup",
    "uninstall",
    "unload_ipython_extension",
]
__version__ = "0.1.0"

_WHERE = {
    "Answer": "kb.answer",
    "install": "kb.hook",
    "load": "kb.corpus",
    "load_ipython_extension": "kb.ipython",
    "lookup": "kb.answer",
    "uninstall": "kb.hook",
    "unload_ipython_extension": "kb.ipython",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'kb' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)
