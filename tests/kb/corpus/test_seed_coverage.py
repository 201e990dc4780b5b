"""Every item of the founding documents is answered by an entry, and the table says by which."""

from kb.corpus.seed_coverage import answers, table
from tests.conftest import REPOSITORY

ENTRIES = REPOSITORY / "entries"


def test_every_item_is_answered(corpus):
    assert [item for item, slugs in answers(corpus, ENTRIES).items() if not slugs] == []


def test_every_source_is_an_item_of_the_list(corpus):
    import yaml

    known = {
        (document, item)
        for document, about in yaml.safe_load((ENTRIES / "seeds.yaml").read_text("utf-8")).items()
        for item in about["items"]
    }
    assert set(answers(corpus, ENTRIES)) == known


def test_the_table_is_up_to_date(corpus):
    assert (ENTRIES / "SEEDS.md").read_text("utf-8") == table(corpus, ENTRIES), (
        "make it anew: python -m kb.corpus.seed_coverage > entries/SEEDS.md"
    )
