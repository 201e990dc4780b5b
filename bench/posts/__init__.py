"""The labelled posts (see README.md)."""

from pathlib import Path

from kb.search.evaluation import read_queries

FIT, CHOOSE, CATALOGUE, WRITTEN = (
    Path(__file__).with_name(f"{name}.jsonl") for name in ("fit", "choose", "catalogue", "written")
)


def catalogue_halves():
    """Return every second query of the catalogue, on which the model is fitted, and the others."""
    queries = read_queries(CATALOGUE)
    return queries[::2], queries[1::2]
