"""kb: PyTorch errors and pitfalls, each with a cause and a fix that a sandbox has run.

`kb.lookup(text)` answers a pasted traceback; `kb.install()` answers whatever this program dies of, and `%load_ext kb` does so in a notebook.
Everything else is in the modules. Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.corpus.loader import load
    from kb.integrations.excepthook import install, uninstall
    from kb.integrations.ipython import load_ipython_extension, unload_ipython_extension
    from kb.search.answer import Answer
    from kb.search.lookup import lookup

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
    "Answer": "kb.search.answer",
    "install": "kb.integrations.excepthook",
    "load": "kb.corpus.loader",
    "load_ipython_extension": "kb.integrations.ipython",
    "lookup": "kb.search.lookup",
    "uninstall": "kb.integrations.excepthook",
    "unload_ipython_extension": "kb.integrations.ipython",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'kb' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)
