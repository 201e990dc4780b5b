"""Measure look-ups on labelled queries: how often the right entry comes first, and how often kb rightly says that it has none.

A query is an object with `text`, `slug` (the entry that answers it, or `NONE`), and if wanted `also_ok` (other slugs that do), `lang` and `form`. Only
queries that an entry of the index can answer count, and those that nothing answers.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kb.index.document import EntrySummary
from kb.index.manager import open_index
from kb.index.reader import Index
from kb.search.answer import Answer
from kb.search.lookup import lookup

__all__ = ["NONE", "Failure", "Figures", "Report", "evaluate", "format_report", "read_queries", "right_entries"]

NONE = "NONE"
"""The label of a query that no entry answers."""


@dataclass(slots=True)
class Figures:
    """What was measured on a group of queries.

    `recall1`, `recall3` and `mrr` are over the answerable queries; `declined_none` is the share of the others that were declined, `declined_wrongly` the
    share of the answerable ones that were. None where a group has no such query. `milliseconds` is the mean time of a look-up.
    """

    answerable: int = 0
    none: int = 0
    recall1: float | None = None
    recall3: float | None = None
    mrr: float | None = None
    declined_none: float | None = None
    declined_wrongly: float | None = None
    milliseconds: float = 0.0


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
    """Figures overall (`all`) and by group (`form:…`, `lang:…`, `kind:…`), the failures, and how many queries had no entry yet."""

    groups: dict[str, Figures]
    failures: list[Failure]
    skipped: int

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "groups": {name: asdict(figures) for name, figures in self.groups.items()},
            "failures": [asdict(one) for one in self.failures],
            "skipped": self.skipped,
        }


@dataclass(slots=True)
class _Judged:
    """One query's outcome: the rank of the first right entry (0: none among the matches), whether kb answered, and the seconds it took."""

    groups: tuple[str, ...]
    none: bool
    rank: int
    answered: bool
    seconds: float


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
    opened = open_index() if index is None else index
    ask = answer or (lambda text: lookup(text, index=opened, limit=depth))
    judged: list[_Judged] = []
    failures: list[Failure] = []
    skipped = 0
    for query in read_queries(path):
        right = {query["slug"], *query.get("also_ok", ())}
        kinds = [head["kind"] for slug in right if (head := _summary(opened, slug))]
        if query["slug"] != NONE and not kinds:
            skipped += 1
            continue
        start = time.perf_counter()
        found = ask(query["text"])
        one = _judge(query, right, kinds, found, time.perf_counter() - start)
        judged.append(one)
        if why := _fault(one):
            failures.append(_failure(query, why, found))
    names = sorted({group for one in judged for group in one.groups}, key=lambda name: (name != "all", name))
    return Report({name: _figures([one for one in judged if name in one.groups]) for name in names}, failures, skipped)


def format_report(report: Report, *, failures: bool = False) -> str:
    """Return the report as a table for a terminal, followed by the failures when they are asked for."""
    rows: list[tuple[str, ...]] = [
        ("group", "queries", "none", "recall@1", "recall@3", "MRR", "none declined", "wrongly declined", "ms")
    ]
    for name, f in report.groups.items():
        rates = (f.recall1, f.recall3, f.mrr, f.declined_none, f.declined_wrongly)
        rows.append(
            (
                name,
                str(f.answerable),
                str(f.none),
                *("-" if rate is None else f"{rate:.3f}" for rate in rates),
                f"{f.milliseconds:.1f}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    if report.skipped:
        lines.append(f"{report.skipped} queries left out: no entry of that slug")
    if failures:
        for one in report.failures:
            lines += [
                "",
                f"line {one.line}: {one.slug} ({one.form}, {one.lang}): {one.why}",
                *(f"    {_got(match)}" for match in one.got),
            ]
            lines += [f"  | {line}" for line in one.text.splitlines()[:8]]
    return "\n".join(lines)


def _summary(index: Index, slug: str) -> EntrySummary | None:
    try:
        return index.summary(index.resolve(slug))
    except KeyError:
        return None


def _judge(query: dict[str, Any], right: set[str], kinds: Sequence[str], found: Answer, seconds: float) -> _Judged:
    none = query["slug"] == NONE
    rank = next((place for place, match in enumerate(found.matches, 1) if match.id in right), 0)
    groups = ["all", *(f"{key}:{query[key]}" for key in ("form", "lang") if query.get(key))]
    if not none:
        groups.append(f"kind:{kinds[0]}")
    return _Judged(tuple(groups), none, 0 if none else rank, found.answered, seconds)


def _fault(one: _Judged) -> str:
    if one.none:
        return "answered, though no entry answers it" if one.answered else ""
    if one.rank == 1 and one.answered:
        return ""
    where = f"the right entry is match {one.rank}" if one.rank else "the right entry is not among the matches"
    return where if one.answered else f"declined; {where}"


def _failure(query: dict[str, Any], why: str, found: Answer) -> Failure:
    got = [
        {
            "id": match.id,
            "confidence": match.confidence,
            "score": match.score,
            "template": match.evidence.template,
            "words": list(match.evidence.words),
        }
        for match in found.matches[:3]
    ]
    return Failure(query["line"], query["slug"], query.get("form", ""), query.get("lang", ""), why, query["text"], got)


def _got(match: dict[str, Any]) -> str:
    reason = match["template"] or ", ".join(match["words"])
    return f"{match['confidence']:8} {match['score']:.2f} {match['id']}: {reason[:120]}"


def _figures(judged: Sequence[_Judged]) -> Figures:
    answerable = [one for one in judged if not one.none]
    none = [one for one in judged if one.none]
    return Figures(
        answerable=len(answerable),
        none=len(none),
        recall1=_mean(one.rank == 1 for one in answerable),
        recall3=_mean(0 < one.rank <= 3 for one in answerable),
        mrr=_mean(1 / one.rank if one.rank else 0.0 for one in answerable),
        declined_none=_mean(not one.answered for one in none),
        declined_wrongly=_mean(not one.answered for one in answerable),
        milliseconds=round(1000 * (_mean(one.seconds for one in judged) or 0.0), 3),
    )


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None
