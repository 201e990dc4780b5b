"""Turn a paste into weighted terms: what a person wrote and what the error says counts, frames, code and logs count little."""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence

from kb.analysis import CALL, terms
from kb.clean import View
from kb.paste import Spotted
from kb.spell import Speller

__all__ = ["calls_in", "weigh"]

ZONES = {"error": 1.5, "other": 0.5, "prose": 1.0, "code": 0.15, "example": 0.7, "trace": 0.5}
"""How much a term counts by where in the paste it stands."""

_MENDED = 0.7
"""How much a mended word counts beside one that was spelt right."""

_BETWEEN = re.compile(r"\s*(?:Traceback \(most recent|During handling of the above|The above exception was)")
"""Lines that every traceback has."""

_PLACE = re.compile(r"File (\"[^\"\n]{1,400}\"), line \d+(?:, in (\S+))?")
"""Where a frame is: of its words only the file and the function tell anything."""

_FUNCTION = re.compile(r"File \"[^\"\n]{1,400}\", line \d+, in (\w+)")
_WORD = re.compile(r"[A-Za-z]{4,24}")
_HAN = re.compile(r"[\u3400-\u9fff]")
_FRAME = re.compile(r"\s*(?:File \"|at |Traceback|During handling|The above exception|\^+\s*$|[~^]{3,})")
_CODE = re.compile(
    r"^\s{4,}|^\s*(?:import |from \S+ import|def |class |return |for .+:\s*$|if .+:\s*$|with .+:\s*$|>>>|@|#include|\$ |[-–]{2,}>|\d+ )"
    r"|[\w\])]\s?=\s?[\w\[({\"']|\w\(.*\)\s*$|\|[#█ ]+\||it/s"
)
_LOG = re.compile(
    r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|^\s*[\w.-]+==\d|^\s*\[[^\]]{0,40}\]|site-packages|\d+%\|"
    r"|^\s*[-*]?\s*(?:OS|Ubuntu|Linux|Windows|macOS|[Pp]ython|[Pp]y[Tt]orch|torch\w*|CUDA|cuDNN|GPU|[Dd]river|transformers|[Vv]ersions?|conda|numpy)\b[^.?!]{0,60}\d"
)
_PLAIN_WORD = re.compile(r"(?<![\w./\\])[A-Za-z]{2,}(?:'[a-z]+)?(?![\w(\[/\\=])")


def weigh(view: View, errors: Sequence[Spotted], speller: Speller) -> dict[str, float]:
    """Return the paste's terms with their weights; a term that stands in several places has the weight of the best."""
    weights: dict[str, float] = {}
    for zone, text in _zones(view, errors):
        mended = _mended(text, speller) if zone in ("error", "prose") else ""
        for part, share in ((text, 1.0), (mended, _MENDED)):
            for term in terms(part):
                weights[term] = max(weights.get(term, 0.0), share * ZONES[zone])
    return weights


def _mended(text: str, speller: Speller) -> str:
    """Return what the misspelt words of the text stand for."""
    return " ".join(part for word in _WORD.findall(text) for part in speller.mend(word.lower()))


def _zones(view: View, errors: Sequence[Spotted]) -> list[tuple[str, str]]:
    main = [error for error in errors if error.role != "reporter"][:1] or list(errors[:1])
    calls = "" if errors else calls_in(view.text)
    zones = [("trace", calls)] if calls else []
    zones += [("error" if error in main else "other", _told(error)) for error in errors[:8]]
    covered = {view.text.count("\n", 0, error.start) for error in errors}
    fenced, code = False, "code" if errors else "example"
    for number, line in enumerate(view.text.split("\n")):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if number in covered or not line.strip() or _BETWEEN.match(line):
            continue
        zones.append((code if fenced or not is_prose(line) else "prose", _PLACE.sub(r"\1 \2", line[:1000])))
    return zones


def calls_in(text: str) -> str:
    """Return the functions that a traceback goes through, each as one term: a paste that lacks the error still has those."""
    return " ".join(CALL + name for name in dict.fromkeys(_FUNCTION.findall(text)))


def _told(error: Spotted) -> str:
    """Return what an error says: its message, and its type unless that is one of Python's own, which says next to nothing."""
    type_ = "" if hasattr(builtins, error.type) else error.type
    return f"{type_} {error.message[:600]}"


def is_prose(line: str) -> bool:
    """Tell whether a line reads as a sentence or a title rather than as code, a frame or a log line."""
    if _FRAME.match(line) or _LOG.search(line):
        return False
    if _HAN.search(line):
        return not re.match(r"\s*#", line)
    words = len(_PLAIN_WORD.findall(line))
    if _CODE.search(line):
        return words >= 8 and words * 8 > len(line)
    return words >= 2
