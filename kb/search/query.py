"""Turn a paste into weighted terms: the error and the prose weigh most, frames, code and logs weigh little."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from functools import cached_property

from kb.index.reader import Index
from kb.index.spelling import Speller
from kb.search.reading import Reading
from kb.startup.lazy_regex import lazy_pattern
from kb.text.analyzer import called_functions, terms
from kb.text.scripts import has_han
from kb.text.tracebacks import ErrorSpan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.index.embeddings import Embedded

__all__ = ["Query", "make_query"]

ZONE_WEIGHTS = {"error": 1.5, "other": 0.5, "prose": 1.0, "code": 0.15, "example": 0.7, "trace": 0.5}
"""Weight of a term by the zone of the paste in which it occurs."""

CORRECTED_WEIGHT = 0.7
"""Factor for the weight of a word whose spelling was corrected."""

_MAX_LINE = 1_000
_MAX_ERRORS = 8
_MAX_SENTENCES = 300

_BETWEEN = lazy_pattern(r"\s*+(?:Traceback \(most recent|During handling of the above|The above exception was)")
"""Lines that occur in every traceback."""

_LOCATION = lazy_pattern(r"File (\"[^\"\n]{1,400}\"), line \d{1,9}(?:, in (\S++))?")
"""Location of a frame. Only its file and its function carry information."""

_WORD = lazy_pattern(r"(?<![\w.])[A-Za-z]{4,24}(?!\w)")
_FRAME = lazy_pattern(r"\s*+(?:File \"|at |Traceback|During handling|The above exception|\^++\s*+$|[~^]{3})")
_CODE = lazy_pattern(
    r"^\s{4}|^\s*+(?:import |from \S{1,200} import|def |class |return |>>>|@|#include|\$ |[-–]{2}[-–]*+>|\d++ )"
    r"|[\w\])]\s?=\s?[\w\[({\"']|\|[#█ ]++\||it/s"
)
_STATEMENT = lazy_pattern(r"\s*+(?:for|if|with) .")
_CALL = lazy_pattern(r"\w\(")
_LOG = lazy_pattern(
    r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|^\s*+[\w.-]++==\d|^\s*+\[[^\]]{0,40}\]|site-packages|\d%\|"
    r"|^\s*+[-*]?\s*+(?:OS|Ubuntu|Linux|Windows|macOS|[Pp]ython|[Pp]y[Tt]orch|torch\w*+|CUDA|cuDNN|GPU|[Dd]river|transformers|[Vv]ersions?|conda|numpy)\b[^.?!]{0,60}\d"
)
_PLAIN_WORD = lazy_pattern(r"(?<![\w./\\])[A-Za-z]{2,}+(?:'[a-z]++)?(?![\w(\[/\\=])")


class Query:
    """The terms of a paste. `weights` depend on the zones in which they occur; `importance` is the weight times the idf, in nats."""

    def __init__(self, index: Index, weights: dict[str, float], zones: Sequence[tuple[str, str]]) -> None:
        self._index, self._zones = index, zones
        self._rests: dict[str, dict[str, float]] = {}
        self.weights = weights

    @cached_property
    def importance(self) -> dict[str, float]:
        """Weight of each term times its inverse document frequency, in nats."""
        idf = self._index.vectors.idf
        return {term: weight * idf(term) for term, weight in self.weights.items()}

    @cached_property
    def embedded(self) -> Embedded:
        """The embedding by which the paste is compared with entries and causes."""
        return self._index.embeddings.embed(self.weights)

    @cached_property
    def text(self) -> str:
        """What a model of sentences reads: what the person wrote, the error, and then code and frames."""

        def of(zone: str) -> str:
            return " ".join(" ".join(text.split()) for own, text in self._zones if own == zone)

        beginnings = of("prose")[:_MAX_SENTENCES], of("error")[:_MAX_SENTENCES]
        return " ".join(filter(None, (*beginnings, of("example"), of("trace"), of("code"))))

    @cached_property
    def nearness(self) -> Mapping[str, float]:
        """The cosine of the paste and each entry that ships, by slug, where a model of sentences is installed; else empty."""
        sentences = self._index.sentences
        return sentences.similarities(self.text) if sentences and self.text else {}

    def cause_similarities(self, vectors: Sequence[Sequence[float]], message: str) -> tuple[float, ...]:
        """Return how similar the paste is to each of the causes, whose vectors these are, of the entry that a message found; it is empty where none did.

        Nothing where the paste says no more than the message, which all causes share.
        """
        return self.embedded.cosines(vectors) if self.rest(message) else ()

    def meaning(self, weights: Mapping[str, float], slug: str) -> float:
        """Return the cosine of some of the terms, with their weights, and what an entry says of itself."""
        embeddings = self._index.embeddings
        return embeddings.embed(weights).cosines([embeddings.entry(slug).vector])[0]

    def rest(self, message: str) -> dict[str, float]:
        """Return the terms with a vector that the paste has beside those of a message, with their weights."""
        if message not in self._rests:
            known, has_vector = set(terms(message)), self._index.embeddings.knows
            weights = self.weights.items()
            self._rests[message] = {term: w for term, w in weights if term not in known and has_vector(term)}
        return self._rests[message]


def make_query(index: Index, reading: Reading) -> Query:
    """Return the terms of a paste. A term that occurs in several zones has the highest of their weights."""
    weights: dict[str, float] = {}
    zones = _zones(reading)
    for zone, text in zones:
        corrected = _corrections(text, index.speller) if zone in ("error", "prose") else ""
        for part, factor in ((text, 1.0), (corrected, CORRECTED_WEIGHT)):
            for term in terms(part):
                weights[term] = max(weights.get(term, 0.0), factor * ZONE_WEIGHTS[zone])
    return Query(index, weights, zones)


def _corrections(text: str, speller: Speller) -> str:
    """Return the corrections of the misspelt words of the text."""
    return " ".join(word for written in _WORD.findall(text) for word in speller.correct(written.lower()))


def _zones(reading: Reading) -> list[tuple[str, str]]:
    """Return the parts of the paste, each with its zone."""
    text, errors = reading.text.text, reading.errors
    main = [error for error in errors if error.role != "wrapper"][:1] or list(errors[:1])
    zones = []
    if not errors and (calls := called_functions(text)):
        zones.append(("trace", calls))
    zones += [("error" if error in main else "other", _error_text(error)) for error in errors[:_MAX_ERRORS]]
    before_errors = {text.count("\n", 0, error.start): _before(text, error.start) for error in reversed(errors)}
    is_fenced, code = False, "code" if errors else "example"
    for number, whole_line in enumerate(text.split("\n")):
        line = before_errors.get(number, whole_line)
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
            continue
        if not line.strip() or _BETWEEN.match(line):
            continue
        zone = code if is_fenced or not _is_prose(line) else "prose"
        zones.append((zone, _LOCATION.sub(r"\1 \2", line[:_MAX_LINE])))
    return zones


def _before(text: str, at: int) -> str:
    """Return what stands before that place on its line."""
    return text[text.rfind("\n", 0, at) + 1 : at]


def _error_text(error: ErrorSpan) -> str:
    """Return the message of an error and its type. A type that is built into Python is left out, because it carries little information."""
    type_ = "" if hasattr(builtins, error.type) else error.type
    return f"{type_} {error.message[:600]}"


def _is_prose(line: str) -> bool:
    """Tell whether a line reads as a sentence or a title rather than as code, a frame or a log line."""
    line = line[:_MAX_LINE]  # the patterns below take the square of the length of a run of spaces
    if _FRAME.match(line) or _LOG.search(line):
        return False
    if has_han(line):
        return not line.lstrip().startswith("#")
    words = len(_PLAIN_WORD.findall(line))
    if _CODE.search(line) or _ends_like_code(line.rstrip()):
        return words >= 8 and words * 8 > len(line)
    return words >= 2


def _ends_like_code(line: str) -> bool:
    """Whether the line is the head of a compound statement, or ends with a call."""
    if line.endswith(":"):
        return bool(_STATEMENT.match(line))
    return line.endswith(")") and bool(_CALL.search(line))
