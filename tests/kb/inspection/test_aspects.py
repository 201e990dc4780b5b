"""What entries may say of their message is what the comparison knows."""

from kb.corpus.front_matter import schema
from kb.inspection.mismatch import ASPECTS


def test_the_schema_lists_the_aspects():
    assert set(schema()["properties"]["inspect"]["enum"]) == set(ASPECTS)


def test_every_aspect_is_that_of_an_entry(corpus):
    assert {entry.inspect for entry in corpus.entries.values()} - {""} == set(ASPECTS)
