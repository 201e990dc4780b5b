"""Accuracy and time of look-ups beside other engines, on the same entries and the same labelled queries, in one run.

`python -m bench lookup [FILE.jsonl]`: the queries are those of `kb eval`; KB_QUERIES names them as well. Only those that an entry answers count,
since the others know no way to decline.
"""

import argparse
import importlib.util
import os
import time

from bench.engines import ENGINES, NEEDS
from kb.corpus.loader import load
from kb.search.evaluation import NONE, read_queries

_DEPTH = 5


def _ranks(search, queries, slugs):
    """Return, for each query, the rank of its first right entry (0: none), its language, and the milliseconds it took."""
    rows = []
    for query in queries:
        right = {query["slug"], *query.get("also_ok", ())} & slugs
        start = time.perf_counter()
        slugs = list(search(query["text"]))
        took = 1000 * (time.perf_counter() - start)
        rank = next((place for place, slug in enumerate(slugs, 1) if slug in right), 0)
        rows.append((rank, query.get("lang", "en"), query.get("form", ""), took))
    return rows


def _share(rows, most):
    return f"{sum(0 < rank <= most for rank, *_ in rows) / len(rows):.3f}" if rows else "-"


def main(argv):
    parser = argparse.ArgumentParser(prog="python -m bench lookup", description=__doc__.splitlines()[0])
    parser.add_argument("queries", nargs="?", default=os.environ.get("KB_QUERIES", ""))
    parser.add_argument("--engine", action="append", choices=list(ENGINES), help="only these")
    arguments = parser.parse_args(argv)
    if not arguments.queries:
        print("No labelled queries: name a file as for `kb eval`, or set KB_QUERIES.")
        return
    entries = list(load())
    slugs = {entry.id for entry in entries}
    queries = [
        query
        for query in read_queries(arguments.queries)
        if query["slug"] != NONE and {query["slug"], *query.get("also_ok", ())} & slugs
    ]
    print(f"{len(entries)} entries, {len(queries)} queries that one of them answers.\n")
    print("| engine | recall@1 | English | Chinese | errors | questions | recall@3 | median ms | build s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in arguments.engine or ENGINES:
        if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
            print(f"| {name} | not installed: `pip install .[bench]` | | | | | | | |")
            continue
        start = time.perf_counter()
        search = ENGINES[name](entries, _DEPTH)
        built = time.perf_counter() - start
        search(queries[0]["text"])
        rows = _ranks(search, queries, slugs)
        times = sorted(took for *_, took in rows)
        errors = [row for row in rows if row[2] in ("traceback", "message", "log")]
        questions = [row for row in rows if row[2] == "question"]
        cells = [
            _share(rows, 1),
            _share([row for row in rows if row[1] == "en"], 1),
            _share([row for row in rows if row[1] == "zh"], 1),
            _share(errors, 1),
            _share(questions, 1),
            _share(rows, 3),
            f"{times[len(times) // 2]:.2f}",
            f"{built:.1f}",
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
