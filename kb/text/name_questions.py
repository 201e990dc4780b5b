"""Read what Python says of a missing name, in the spelling of every version from 2.7 and 3.5 to 3.14."""

from __future__ import annotations

from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple

__all__ = ["NameQuestion", "read_name_error"]

_NAME = r"[A-Za-z_]\w{0,80}+"
_DOTTED = rf"{_NAME}(?>(?:\.{_NAME}){{0,12}})"
_Q = r"['\"`]"
_PARTIAL = "partially initialized module"
_FILE = lazy_pattern(r" \((?:consider renaming ['\"])?(?P<file>unknown location|[^()'\"\n]{1,300}\.py)['\")]")
"""What Python adds: the file that it read, from 3.13 on with the advice to rename it, `unknown location` for a folder without `__init__.py`."""
_HOW = "(?:positional|keyword-only)"
_LIMIT = r"(?:(?:from \d{1,3} to |at most |exactly )?(?P<limit>\d{1,3})|no)"
_PATTERNS = (
    ("name", "cannot import name", rf"cannot import name {_Q}?(?P<name>{_NAME}){_Q}?(?: from (?P<partial>{_PARTIAL} )?{_Q}(?P<owner>{_DOTTED}){_Q})?"),
    ("module", "No module named", rf"No module named {_Q}?(?P<name>{_DOTTED}){_Q}?(?P<flat>; {_Q}{_DOTTED}{_Q} is not a package)?"),
    ("name", "module ", rf"(?P<partial>partially initialized )?module {_Q}(?P<owner>{_DOTTED}){_Q} has no attribute {_Q}(?P<name>{_NAME}){_Q}"),
    ("name", "cannot access submodule", rf"cannot access submodule {_Q}(?P<name>{_NAME}){_Q} of module {_Q}(?P<owner>{_DOTTED}){_Q}(?P<partial>)"),
    ("member", "type object ", rf"type object {_Q}(?P<owner>{_DOTTED}){_Q} has no attribute {_Q}(?P<name>{_NAME}){_Q}"),
    ("member", " object has no attribute", rf"{_Q}(?P<owner>{_DOTTED}){_Q} object has no attribute {_Q}(?P<name>{_NAME}){_Q}"),
    ("keyword", "unexpected keyword", rf"(?P<owner>{_DOTTED})\(\) got an unexpected keyword argument {_Q}(?P<name>{_NAME}){_Q}"),
    ("keyword", "invalid keyword", rf"{_Q}(?P<name>{_NAME}){_Q} is an invalid keyword argument for (?P<owner>{_DOTTED})(?:\(\))?"),
    ("keyword", "positional-only", rf"(?P<owner>{_DOTTED})\(\) got some positional-only arguments passed as keyword arguments: {_Q}(?P<name>{_NAME})"),
    ("required", "missing ", rf"(?P<owner>{_DOTTED})\(\) missing \d{{1,3}} required {_HOW} arguments?: {_Q}(?P<name>{_NAME}){_Q}"),
    ("count", " takes ", rf"(?P<owner>{_DOTTED})\(\) takes {_LIMIT} (?:positional )?arguments?(?: but)? \(?(?P<given>\d{{1,3}})"),
)  # fmt: skip
"""What is missing, words without which a pattern does not match, and the pattern. Compiling a pattern takes longer than all else here."""

_COMPILED = tuple((kind, sign, lazy_pattern(pattern)) for kind, sign, pattern in _PATTERNS)
_MAX_MESSAGE = 2_000


class NameQuestion(NamedTuple):
    """What an error message says is missing.

    `kind` is one of: name (of a module), module, member (of a class), keyword (unknown to a callable), required (parameter that was not given), count
    (of positional arguments). `owner` is the module, class or callable, as far as the message names it; `name` is the missing name. `is_partial` is
    true where Python says that the module was still being imported. `limit` and `given` are numbers of positional arguments.
    """

    kind: str
    owner: str
    name: str
    is_partial: bool = False
    limit: int = 0
    given: int = 0
    file: str = ""


def read_name_error(error_type: str, message: str) -> NameQuestion | None:
    """Return the question that an error asks, or None if it is not about a name. The type may be empty."""
    last = error_type.rpartition(".")[2]
    if last and last not in _KINDS:
        return None
    message = message[:_MAX_MESSAGE]
    for kind, sign, pattern in _COMPILED:
        if sign not in message or (last and kind not in _KINDS[last]):
            continue
        match = pattern.search(message)
        if match is not None:
            groups = match.groupdict()
            file = _FILE.match(message, match.end()) if message.startswith(" (", match.end()) else None
            return NameQuestion(
                kind,
                _without_init(groups.get("owner") or ""),
                groups.get("name") or "",
                groups.get("partial") is not None,
                int(groups.get("limit") or 0),
                int(groups.get("given") or 0),
                file["file"] if file else "",
            )
    return None


_KINDS = {
    "ImportError": ("name", "module"),
    "ModuleNotFoundError": ("module",),
    "AttributeError": ("name", "member"),
    "TypeError": ("keyword", "required", "count"),
}


def _without_init(owner: str) -> str:
    """Return the class for `Class.__init__`, and nothing for the bare `__init__` that Python before 3.10 prints."""
    method = owner.rpartition(".")[2]
    return owner[: -len(method)].rstrip(".") if method in ("__init__", "__new__") else owner
