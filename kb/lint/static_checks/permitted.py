"""What a program may import, and what of it it may use.

A list of what is allowed, because a list of what is forbidden is never complete. Who needs more asks for an exemption, which a reviewer reads; a module
that many entries need is added here.
"""

from __future__ import annotations

import sys

__all__ = [
    "DUNDERS",
    "MODULES",
    "PARTS_OF",
    "REPLACING",
    "SETTINGS",
    "SPECIAL_METHODS",
    "is_permitted_import",
    "is_permitted_part",
    "is_private",
]

MODULES = frozenset(
    "__future__ abc argparse array ast base64 bisect calendar cmath collections concurrent contextlib copy csv dataclasses datetime decimal "
    "enum fractions functools gc gzip hashlib heapq importlib io itertools json math multiprocessing numbers operator os pathlib pickle platform "
    "pprint queue random re resource secrets shutil socket statistics string struct subprocess sys tarfile tempfile textwrap threading time types "
    "typing uuid wave weakref zipfile zlib".split()
)
"""Modules of the standard library. The rest looks into the interpreter, runs code from text, reports errors or hides them."""

PARTS_OF: dict[str, frozenset[str]] = {
    module: frozenset(names.split())
    for module, names in {
        "ast": "literal_eval",
        "contextlib": "AbstractContextManager ExitStack closing contextmanager nullcontext",
        "gc": "collect disable enable freeze isenabled",
        "importlib": "metadata util.find_spec",
        "io": "BytesIO StringIO",
        "operator": "add and_ contains eq floordiv ge getitem gt index invert is_ is_not itemgetter le lshift lt matmul mod mul ne neg not_ or_ "
        "pos pow rshift setitem sub truediv truth xor",
        "os": "PathLike chdir cpu_count environ fspath getcwd getenv linesep makedirs mkdir name path pathsep remove rename replace rmdir "
        "sched_getaffinity sep unlink urandom",
        "pickle": "HIGHEST_PROTOCOL PicklingError dump dumps",
        "sys": "byteorder executable float_info getrefcount getsizeof implementation maxsize modules path platform version version_info",
        "threading": "Barrier Condition Event Lock RLock Semaphore Thread current_thread local main_thread",
        "types": "MappingProxyType MethodType SimpleNamespace",
        "weakref": "WeakKeyDictionary WeakSet WeakValueDictionary proxy ref",
    }.items()
}
"""Of these modules only the named parts may be used."""

DUNDERS = frozenset(
    {
        "__init__",
        "__name__",
        "__version__",
        "__file__",
        "__len__",
        "__getitem__",
        "__call__",
        "__iter__",
        "__next__",
        "__doc__",
    }
)
"""Special attributes that a program may read or call."""

SPECIAL_METHODS = (DUNDERS - {"__file__", "__name__", "__version__"}) | {
    "__enter__",
    "__exit__",
    "__post_init__",
    "__repr__",
    "__setitem__",
    "__str__",
}
"""Special methods that a program's classes may define. Those that decide comparisons and attribute access could make any assert hold."""

SETTINGS = (
    "os.environ",
    "sys.path",
    "sys.modules",
    "torch.backends.",
    "torch._dynamo.config.",
    "torch._inductor.config.",
    "torch.multiprocessing.",
)
"""Attributes of modules that a program may set, by their beginnings."""


REPLACING = (
    "numpy.ctypeslib",
    "numpy.f2py",
    "torch.classes.load_library",
    "torch.library.Library",
    "torch.library.impl",
    "torch.library.register_kernel",
    "torch.ops.load_library",
    "torch.overrides",
    "torch.package",
)
"""Beginnings of names with which a program could put its own code in place of the library's, or run code that no text of it shows."""

_PUBLIC_PRIVATE_PARTS = (
    "torch._dynamo.allow_in_graph",
    "torch._dynamo.config",
    "torch._dynamo.disable",
    "torch._dynamo.exc",
    "torch._dynamo.explain",
    "torch._dynamo.graph_break",
    "torch._dynamo.mark_dynamic",
    "torch._dynamo.reset",
    "torch._inductor.config",
    "torch._logging.set_logs",
)
"""Parts of packages that their documentation names although they begin with an underscore."""


def is_private(name: str) -> bool:
    """Return whether a dotted name leads to a private part of a package, such as `torch.fx.graph_module._exec_with_source`."""
    root, *parts = name.split(".")
    if root in sys.stdlib_module_names or root == "?":
        return False
    if any(_within(name, public) or _within(public, name) for public in _PUBLIC_PRIVATE_PARTS):
        return False
    return any(part.startswith("_") and not part.startswith("__") for part in parts)


def _within(name: str, outer: str) -> bool:
    return name == outer or name.startswith(f"{outer}.")


def is_permitted_import(module: str, packages: frozenset[str]) -> bool:
    """Return whether a program may import a module: a listed one, or one of these packages."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names:
        return root in MODULES and is_permitted_part(module)
    return root in packages


def is_permitted_part(name: str) -> bool:
    """Return whether a part of a module may be used; any part may where no list says which."""
    root, _, part = name.partition(".")
    parts = PARTS_OF.get(root)
    if parts is None or not part:
        return True
    return any(_within(part, permitted) or _within(permitted, part) for permitted in parts)
