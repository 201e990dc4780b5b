"""What Apple, Intel, AMD and Ascend devices and Windows in three languages print leads to the entry that answers the same mistake on CUDA."""

import json
from pathlib import Path

import pytest

from kb.index.manager import open_index
from kb.search.lookup import lookup

WORDINGS = Path(__file__).parents[1] / "data" / "wordings_of_devices.jsonl"
ROWS = [json.loads(line) for line in WORDINGS.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def published():
    return open_index()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["text"][:60])
def test_a_wording_of_a_device_or_platform_is_answered(published, row):
    match = lookup(row["text"], index=published).matches[0]
    assert (match.id, match.evidence.is_whole) == (row["slug"], True)
