"""Versions are read as PEP 440 says, and a build counts as its release."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.corpus.versions import holds, is_impossible, release, sort_key


@pytest.mark.parametrize(
    ("spec", "version", "expected"),
    [
        ("", "2.13.0", True),
        ("<1.5", "1.4.1", True),
        ("<1.5", "1.5.0", False),
        (">=2.0,<2.6", "2.4.1+cu121", True),
        (">=2.0,<2.6", "2.13.0", False),
        ("<2.13", "2.9.1", True),
        (">2.0", "2.0.0", False),
        ("==2.0", "2.0.0", True),
        (">=2.0", "2.12.0.dev20261101+cpu", True),
        (">=2.12", "2.12.0.dev20261101+cpu", True),
        ("<2.12", "2.12.0.dev20261101+cpu", False),
        (">=2.6", "2.6.0a0+git1234567", True),
    ],
)
def test_a_range_is_compared_with_the_release_of_a_build(spec, version, expected):
    assert holds(spec, version) is expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.13.0", "2.13.0"), ("2.13.0+cpu", "2.13.0"), ("2.12.0.dev20261101+cpu", "2.12.0"), ("2.13.0rc2", "2.13.0")],
)
def test_the_release_of_a_build(version, expected):
    assert release(version) == expected


@pytest.mark.parametrize("function", [release, lambda version: holds(">=2.0", version)])
@pytest.mark.parametrize("version", ["", "latest", "2.13.0-", "2..1", "9" * 5000])
def test_what_is_no_version_is_a_value_error(function, version):
    with pytest.raises(ValueError):  # noqa: PT011 - of any kind
        function(version)


def test_a_range_that_is_none_is_a_value_error():
    with pytest.raises(ValueError, match="Invalid specifier"):
        holds("about 2", "2.1.0")


def test_versions_sort_from_old_to_new_and_what_is_none_comes_first():
    shuffled = ["2.13.0", "2.9.1", "2.13.0+cpu", "nightly", "2.13.0.dev20261101", "2.4.1"]
    assert sorted(shuffled, key=sort_key) == ["nightly", "2.4.1", "2.9.1", "2.13.0.dev20261101", "2.13.0", "2.13.0+cpu"]


@given(st.lists(st.text(max_size=12) | st.just("9" * 5000) | st.from_regex(r"\d+\.\d+[a-z+.]*\d*", fullmatch=True)))
def test_any_texts_can_be_sorted(texts):
    keys = [sort_key(text) for text in sorted(texts, key=sort_key)]
    assert all(older <= newer for older, newer in pairwise(keys))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("", False),
        (">=2.0", False),
        (">=1.0,<2.0", False),
        (">=2.0,<1.5", True),
        ("<1.5,>=2.0", True),
        (">=2.0,<2.0", True),
        (">2.0,<=2.0", True),
        (">=2.0,<=2.0", False),
        ("==2.0,<2.6", False),
        ("==2.0,==2.1", True),
        ("!=2.1.*", False),
        (">=2.0,!=2.1.*", False),
    ],
)
def test_a_range_that_no_version_can_be_in(spec, expected):
    assert is_impossible(spec) is expected
