"""The `torch:` ranges of wordings beside the releases that print them."""

import pytest

from kb.corpus.entry import Message
from kb.record.message_ranges import range_differences, releases_left_out, specifier, write_range
from kb.record.query import open_record
from kb.record.ranges import VersionRange

OLD = "def f(n):\n    raise ValueError(f'expected a count of at least zero, got {n}')\n"
NEW = "def f(n):\n    raise ValueError(f'the count {n} has to be at least zero')\n"


class Entry:
    """An entry as far as the comparison looks at it."""

    def __init__(self, *messages):
        self.id, self.messages = "an-entry", messages


@pytest.fixture(autouse=True)
def record(make_record):
    make_record(
        {version: {"torch/data.py": text} for version, text in (("1.0.1", OLD), ("1.1.0", OLD), ("1.2.0", NEW))},
        package="torch",
    )


@pytest.mark.parametrize("stated", ["<1.2", "<=1.1"])
def test_a_range_that_the_record_bears_out_is_not_reported(stated):
    entry = Entry(Message("ValueError: expected a count of at least zero, got {int}", stated))
    assert list(range_differences([entry])) == []


@pytest.mark.parametrize("stated", ["", ">=1.2", "<1.1"])
def test_a_range_that_differs_is_reported_with_what_the_record_has(stated):
    entry = Entry(Message("ValueError: expected a count of at least zero, got {int}", stated))
    (difference,) = range_differences([entry])
    assert (difference.stated, difference.recorded, difference.proven) == (stated, "<1.2", "<1.2")


def test_a_wording_that_no_release_has_is_left_out():
    assert list(range_differences([Entry(Message("ValueError: something else entirely is wrong here", ""))])) == []


def test_a_wording_of_which_the_record_has_only_the_beginning_is_left_out():
    wording = "ValueError: expected a count of at least zero, got {int} and then some other words that nobody prints"
    assert list(range_differences([Entry(Message(wording, ">=1.2"))])) == []


def test_the_end_of_a_range_is_not_proven_where_something_later_begins_with_the_same_words(make_record):
    longer = "def f(n):\n    raise ValueError(f'expected a count of at least zero, got {n}, which is negative')\n"
    releases = (("1.0.1", OLD), ("1.1.0", OLD), ("1.2.0", longer))
    make_record({version: {"torch/data.py": text} for version, text in releases}, package="torch")
    open_record.cache_clear()
    (difference,) = range_differences([Entry(Message("ValueError: expected a count of at least zero, got {int}", ""))])
    assert (difference.recorded, difference.proven) == ("<1.2", None)


@pytest.mark.parametrize(
    ("stated", "left_out"), [("", ()), ("<1.2", ()), ("<1.1", ("1.1",)), (">=1.2", ("1.0", "1.1"))]
)
def test_releases_that_print_a_wording_and_are_left_out_are_found(stated, left_out):
    assert releases_left_out(Message("ValueError: expected a count of at least zero, got {int}", stated)) == left_out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('  - "E: x"', '  - {text: "E: x", torch: ">=1.2"}'),
        ("  - 'E: x'", "  - {text: 'E: x', torch: \">=1.2\"}"),
        ('  - {text: "E: x", device: cuda}', '  - {text: "E: x", device: cuda, torch: ">=1.2"}'),
        ('  - {text: "E: x", torch: "<3", device: cuda}', '  - {text: "E: x", device: cuda, torch: ">=1.2"}'),
        ('  - text: "E: x"\n    explain: y', '  - text: "E: x"\n    torch: ">=1.2"\n    explain: y'),
        ('  - text: "E: x"\n    torch: "<3"\n    explain: y', '  - text: "E: x"\n    torch: ">=1.2"\n    explain: y'),
    ],
)
def test_a_range_is_written_into_the_line_of_the_wording_and_nothing_else_changes(tmp_path, before, after):
    path = tmp_path / "entry.md"
    path.write_text(f"messages:\n{before}\napis: []\n")
    assert write_range(path, 2, ">=1.2")
    assert path.read_text() == f"messages:\n{after}\napis: []\n"


def test_a_wording_in_another_form_is_left_alone(tmp_path):
    path = tmp_path / "entry.md"
    path.write_text("messages:\n  - E x\n")
    assert not write_range(path, 2, ">=1.2")
    assert path.read_text() == "messages:\n  - E x\n"


def test_ranges_are_written_as_specifiers():
    assert specifier([VersionRange("1.7", "1.9", "1.10", is_first=False)]) == ">=1.7,<1.10"
    assert specifier([VersionRange("1.0", "2.15", "", is_first=True)]) == ""
