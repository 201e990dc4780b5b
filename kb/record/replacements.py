"""What replaces a name: from a deprecation notice of the package itself, else from a short curated list with a source for each line."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.record.rows import NameRow

__all__ = ["Replacement", "curated", "replacement_in", "replacement_of"]

_REPLACEMENT = lazy_pattern(
    r"(?:use|using|favou?r of|replaced (?:by|with)|moved to|renamed to|superseded by|switch to|alternative[: ]+)\s+"
    r"(?:one of )?(?:the |instead )?(?:new )?(?:class )?(?:(?:function|method|class|argument|module)s?:? )?"
    r"(?:`{1,2}|'|\"|:\w+:`~?)?(?P<dot>\.?)(?P<name>[A-Za-z_][\w.]*\w)(?P<call>\((?:[\w.]+(?:, )?)*\))?(?P<quote>`{1,2}|'|\"|\()?",
    re.IGNORECASE,
)
_NO_NAMES = frozenset(
    "the a an this that it instead new another other version code future release torch pytorch python of other and your their its one".split()
)
_TESTS = ("isinstance", "issubclass")
"""What says nothing without its arguments."""

_LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "replacements.tsv")


class Replacement(NamedTuple):
    """What to use instead, and where that is said: an address, or `notice` for the package's own deprecation notice. Both may be empty."""

    name: str
    source: str


NO_REPLACEMENT = Replacement("", "")


@lru_cache(maxsize=1)
def curated() -> dict[tuple[str, str], Replacement]:
    """Return the curated list by name and parameter; the parameter is empty for a line about the name itself."""
    lines: dict[tuple[str, str], Replacement] = {}
    with open(_LIST, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, replacement, source = line.rstrip("\n").split("\t")
                owner, _, parameter = name.partition("(")
                lines[(owner, parameter.rstrip(")"))] = Replacement(replacement, source)
    return lines


def replacement_of(name: str, row: NameRow | None, parameter: str = "") -> Replacement:
    """Return what replaces `name`, or its parameter; the curated list counts before the notice, because it was checked.

    A line of the list may name a class or a function by its package alone, `pytorch_lightning.Trainer(gpus)`, wherever it is defined. What a
    notice recommends may have been replaced since, which the list says, too.
    """
    short = f"{name.partition('.')[0]}.{name.rpartition('.')[2]}"
    listed = curated().get((name, parameter)) or curated().get((short, parameter))
    if listed is None and not parameter and row is not None:
        recommended = replacement_in(row.notice)
        if recommended and recommended.rpartition(".")[2] != name.rpartition(".")[2]:
            return curated().get((recommended, ""), Replacement(recommended, "notice"))
    return listed or NO_REPLACEMENT


def replacement_in(notice: str) -> str:
    """Return the name that a notice recommends in place of what it deprecates, or the empty string."""
    for recommendation in _REPLACEMENT.finditer(notice):
        name = recommendation["name"]
        is_code = recommendation["quote"] or recommendation["dot"] or "." in name or "_" in name
        if is_code and name.lower() not in _NO_NAMES:
            return name + (recommendation["call"] or "") * (name in _TESTS)
    return ""
