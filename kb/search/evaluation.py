"""Measure look-ups on labelled queries: how often the right entry comes first, and how often kb rightly says that it has none.

A query is an object with `text`, `slug` (the entry that answers it, `NONE`, or `MISSING` with `missing`, the name of the mistake), and if wanted `also_ok`
(other slugs that do), `causes` (the numbers of the entry's causes that are this person's), `lang`, `form` and `ecosystem`. Queries with another slug that
the index lacks are left out.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kb.documents.shapes import EntryHead
from kb.index.manager import open_index
from kb.index.reader import Index
from kb.search.answer import Answer
from kb.search.cause_choice import fitting_cause
from kb.search.lookup import lookup
from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["NONE", "Failure", "Figures", "Report", "evaluate", "format_report", "read_queries", "right_entries"]

NONE, MISSING = "NONE", "MISSING"
"""The labels of a query that no entry answers: it is no matter of PyTorch's, or an entry is to be wished."""

_BINS = 5


@dataclass(slots=True)
class Figures:
    """What was measured on a group of queries.

    `recall1`, `recall3` and `mrr` are over the answerable queries; `declined_none` is the share of the others that were declined, `declined_wrongly` the
    share of the answerable ones that were. `answered_rightly` is the share of the answerable that were answered with a right entry first, and `exact` and
    `likely` are the shares of right ones among the first answers of that confidence. `cause` is the share of those answered rightly, and with a known cause,
    for which that cause was chosen. None where a group has no such query. `milliseconds` is the mean time
    of a look-up. `calibration_error` is the mean distance between the score of the first match and the share of right ones, over bins of the score.
    """

    answerable: int = 0
    none: int = 0
    recall1: float | None = None
    recall3: float | None = None
    mrr: float | None = None
    declined_none: float | None = None
    declined_wrongly: float | None = None
    milliseconds: float = 0.0
    answered_rightly: float | None = None
    exact: float | None = None
    likely: float | None = None
    cause: float | None = None
    calibration_error: float | None = None


class Bin(NamedTuple):
    """Queries whose first match had a score from `low` on, below the next bin: their number, their mean score, and the share whose first match was right."""

    low: float
    queries: int
    score: float
    right: float


@dataclass(slots=True)
class Failure:
    """A query that was not answered as labelled, and what was answered instead: slug, confidence, score and evidence of each match."""

    line: int
    slug: str
    form: str
    lang: str
    why: str
    text: str
    got: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """Figures overall (`all`) and by group (`form:…`, `lang:…`, `ecosystem:…`, `kind:…`), the failures, and how many queries had no entry yet.

    `reliability` has the scores of first matches beside the share of right ones, by bin.
    """

    groups: dict[str, Figures]
    failures: list[Failure]
    skipped: int
    reliability: list[Bin] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "groups": {name: asdict(figures) for name, figures in self.groups.items()},
            "failures": [asdict(failure) for failure in self.failures],
            "skipped": self.skipped,
            "reliability": [part._asdict() for part in self.reliability],
        }


@dataclass(slots=True)
class _Judged:
    """One query's outcome: the rank of the first right entry (0: none among the matches), whether kb answered, and the seconds it took.

    `confidence` and `score` are those of the first match, empty and 0 where there is none. `has_cause` says whether the right cause was chosen, None where
    it is not known or the entry is another.
    """

    groups: tuple[str, ...]
    none: bool
    rank: int
    answered: bool
    seconds: float
    confidence: str
    score: float
    has_cause: bool | None


def read_queries(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the queries of a file with an object per line; raises ValueError that names the line of one that is none."""
    queries = []
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                query = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"{path}:{number}: no JSON ({error.msg}); give an object per line") from error
            if (
                not isinstance(query, dict)
                or not isinstance(query.get("text"), str)
                or not isinstance(query.get("slug"), str)
            ):
                raise ValueError(f"{path}:{number}: a query is an object with 'text' and 'slug'")  # noqa: TRY004 - about the file
            queries.append({**query, "line": number})
    return queries


def right_entries(index: Index, query: Mapping[str, Any]) -> set[str]:
    """Return the slugs of the entries of the index that answer a query.

    Those are its `slug` and `also_ok`, also under the names that they had before, and the entry that has the name of what was `missing`.
    """
    named = {query["slug"], query.get("missing", ""), *query.get("also_ok", ())}
    return {head["id"] for slug in named if (head := _summary(index, slug))}


def evaluate(
    path: str | os.PathLike[str],
    *,
    index: Index | None = None,
    answer: Callable[[str], Answer] | None = None,
    depth: int = 10,
) -> Report:
    """Return the report on the queries in the file; `answer` may be given to measure something else than `kb.lookup`."""
    opened = open_index(wait=True) if index is None else index
    ask = answer or (lambda text: lookup(text, index=opened, limit=depth))
    judged: list[_Judged] = []
    failures: list[Failure] = []
    skipped = 0
    for query in read_queries(path):
        right = right_entries(opened, query)
        kinds = [opened.summary(slug)["kind"] for slug in sorted(right)]
        if query["slug"] not in (NONE, MISSING) and not right:
            skipped += 1
            continue
        start = time.perf_counter()
        given = ask(query["text"])
        seconds = time.perf_counter() - start
        outcome = _judge(query, right, kinds, given, seconds, _has_cause(opened, query, given))
        judged.append(outcome)
        if why := _fault(outcome):
            failures.append(_failure(query, why, given))
    names = sorted({group for outcome in judged for group in outcome.groups}, key=lambda name: (name != "all", name))
    groups = {name: _figures([outcome for outcome in judged if name in outcome.groups]) for name in names}
    return Report(groups, failures, skipped, _reliability(judged))


def format_report(report: Report, *, failures: bool = False) -> str:
    """Return the report as a table for a terminal, followed by the failures when they are asked for."""
    head = ("group", "queries", "none", "recall@1", "recall@3", "MRR", "none declined", "wrongly declined")
    more = ("rightly answered", "exact right", "likely right", "cause right", "calibration", "ms")
    rows: list[tuple[str, ...]] = [(*head, *more)]
    for name, f in report.groups.items():
        rates = (f.recall1, f.recall3, f.mrr, f.declined_none, f.declined_wrongly)
        cells = [_rate(rate) for rate in (*rates, f.answered_rightly, f.exact, f.likely, f.cause, f.calibration_error)]
        rows.append((name, str(f.answerable), str(f.none), *cells, f"{f.milliseconds:.1f}"))
    lines = _aligned(rows)
    if report.reliability:
        table = [("score from", "queries", "mean score", "first right")]
        table += [
            (f"{low:.1f}", str(queries), _rate(score), _rate(right))
            for low, queries, score, right in report.reliability
        ]
        lines += ["", *_aligned(table)]
    if report.skipped:
        lines.append(f"{report.skipped} queries left out: no entry of that slug")
    if failures:
        for failure in report.failures:
            lines += [
                "",
                f"line {failure.line}: {failure.slug} ({failure.form}, {failure.lang}): {failure.why}",
                *(f"    {_got(match)}" for match in failure.got),
            ]
            lines += [f"  | {line}" for line in failure.text.splitlines()[:8]]
    return "\n".join(lines)


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.3f}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the rows as lines with the first column to the left and the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _summary(index: Index, slug: str) -> EntryHead | None:
    try:
        return index.summary(index.resolve(slug))
    except KeyError:
        return None


def _has_cause(index: Index, query: Mapping[str, Any], given: Answer) -> bool | None:
    """Return whether the right cause was chosen, or None where it is not known or the entry is another."""
    if not given.answered or not query.get("causes") or given.matches[0].id != query["slug"]:
        return None
    choice = fitting_cause(given, index.document(query["slug"]), query["text"])
    return choice.item + 1 in query["causes"]


def _judge(
    query: dict[str, Any],
    right: set[str],
    kinds: Sequence[str],
    given: Answer,
    seconds: float,
    has_cause: bool | None,
) -> _Judged:
    rank = next((place for place, match in enumerate(given.matches, 1) if match.id in right), 0)
    groups = ["all", *(f"{key}:{query[key]}" for key in ("form", "lang", "ecosystem") if query.get(key))]
    groups += [f"kind:{kinds[0]}"] if kinds else []
    first = given.matches[0] if given.matches else None
    confidence, score = (first.confidence, first.score) if first else ("", 0.0)
    return _Judged(tuple(groups), not right, rank, given.answered, seconds, confidence, score, has_cause)


def _fault(outcome: _Judged) -> str:
    if outcome.none:
        return "answered, though no entry answers it" if outcome.answered else ""
    if outcome.rank == 1 and outcome.answered:
        return ""
    where = f"the right entry is match {outcome.rank}" if outcome.rank else "the right entry is not among the matches"
    return where if outcome.answered else f"declined; {where}"


def _failure(query: dict[str, Any], why: str, given: Answer) -> Failure:
    got = [
        {
            "id": match.id,
            "confidence": match.confidence,
            "score": match.score,
            "template": match.evidence.template,
            "words": list(match.evidence.words),
        }
        for match in given.matches[:3]
    ]
    return Failure(query["line"], query["slug"], query.get("form", ""), query.get("lang", ""), why, query["text"], got)


def _got(match: dict[str, Any]) -> str:
    reason = match["template"] or ", ".join(match["words"])
    return f"{match['confidence']:8} {match['score']:.2f} {match['id']}: {reason[:120]}"


def _figures(judged: Sequence[_Judged]) -> Figures:
    answerable = [outcome for outcome in judged if not outcome.none]
    none = [outcome for outcome in judged if outcome.none]
    return Figures(
        answerable=len(answerable),
        none=len(none),
        recall1=_mean(outcome.rank == 1 for outcome in answerable),
        recall3=_mean(0 < outcome.rank <= 3 for outcome in answerable),
        mrr=_mean(1 / outcome.rank if outcome.rank else 0.0 for outcome in answerable),
        declined_none=_mean(not outcome.answered for outcome in none),
        declined_wrongly=_mean(not outcome.answered for outcome in answerable),
        milliseconds=round(1000 * (_mean(outcome.seconds for outcome in judged) or 0.0), 3),
        answered_rightly=_mean(outcome.answered and outcome.rank == 1 for outcome in answerable),
        exact=_mean(outcome.rank == 1 for outcome in judged if outcome.confidence == "exact"),
        likely=_mean(outcome.rank == 1 for outcome in judged if outcome.confidence == "likely"),
        cause=_mean(outcome.has_cause for outcome in judged if outcome.has_cause is not None),
        calibration_error=_calibration_error(_reliability(judged)),
    )


def _reliability(judged: Sequence[_Judged]) -> list[Bin]:
    """Return the bins of the scores of first matches that have queries, lowest first."""
    bins: dict[int, list[_Judged]] = {}
    for outcome in judged:
        if outcome.confidence:
            bins.setdefault(min(int(outcome.score * _BINS), _BINS - 1), []).append(outcome)
    return [
        Bin(
            number / _BINS,
            len(part),
            _mean(outcome.score for outcome in part) or 0.0,
            _mean(outcome.rank == 1 for outcome in part) or 0.0,
        )
        for number, part in sorted(bins.items())
    ]


def _calibration_error(bins: Sequence[Bin]) -> float | None:
    """Return the expected calibration error (Naeini, Cooper and Hauskrecht, 2015)."""
    total = sum(part.queries for part in bins)
    return sum(part.queries * abs(part.score - part.right) for part in bins) / total if total else None


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None
