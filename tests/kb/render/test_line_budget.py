"""Lines of a screen shared by weights: never too many, none wasted, the least first."""

from hypothesis import given
from hypothesis import strategies as st

from kb.render.line_budget import Part, clip, cut, share
from kb.render.terminal import columns

parts = st.lists(
    st.builds(
        Part,
        st.lists(st.just("line"), max_size=12),
        st.integers(0, 5),
        st.sampled_from([0.5, 1.0, 2.0, 4.0]),
    ),
    max_size=8,
)


@given(parts, st.integers(0, 60))
def test_the_lines_of_a_screen_are_all_given_and_no_more(parts, total):
    given_lines = share(parts, total)
    assert sum(given_lines) == min(total, sum(len(part.lines) for part in parts))
    assert all(0 <= count <= len(part.lines) for count, part in zip(given_lines, parts, strict=True))


@given(parts)
def test_without_a_limit_every_line_is_given(parts):
    assert share(parts, None) == [len(part.lines) for part in parts]


def test_each_gets_its_least_in_order_and_the_heavier_more_of_the_rest():
    lines = ["x"] * 10
    assert share([Part(lines, 2), Part(lines, 3)], 4) == [2, 2]
    assert share([Part(lines, 0, 1), Part(lines, 0, 3)], 8) == [2, 6]


@given(st.text(min_size=1, max_size=60), st.integers(4, 40))
def test_a_clipped_line_fits(text, limit):
    assert columns(clip(text, limit)) <= limit


@given(st.lists(st.text("ab. 。中", min_size=1, max_size=30), max_size=9), st.integers(0, 9))
def test_what_is_cut_has_no_more_lines_than_asked_for_and_no_line_grows_beyond_the_limit(lines, most):
    lines = [clip(line, 20) for line in lines]
    kept = cut(lines, most, 20)
    assert len(kept) <= most
    assert all(columns(line) <= 20 for line in kept)
