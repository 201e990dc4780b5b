"""The evaluation counts what it says it counts."""

import json

import pytest

from kb.index.manager import open_index
from kb.search.answer import Answer, Evidence, Match
from kb.search.evaluation import evaluate, format_report, read_queries
from tests.kb.entries_to_find import write_entry


@pytest.fixture
def index(tmp_path):
    write_entry(tmp_path / "entries", "one-entry", messages=["RuntimeError: one of the three words"])
    write_entry(tmp_path / "entries", "two-entry")
    return open_index([tmp_path / "entries"], cache=tmp_path / "cache")


@pytest.fixture
def queries(tmp_path):
    def write(*rows):
        path = tmp_path / "queries.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return path

    return write


def answers(by_text):
    def answer(text):
        slugs, answered = by_text[text]
        confidence = "likely" if answered else "related"
        return Answer(answered, tuple(Match(slug, confidence, 0.5, {}, Evidence()) for slug in slugs), (), "en")

    return answer


def test_ranks_and_declines_are_counted_by_group(index, queries):
    path = queries(
        {"text": "a", "slug": "one-entry", "form": "message", "lang": "en"},
        {"text": "b", "slug": "one-entry", "form": "message", "lang": "zh"},
        {"text": "c", "slug": "missing", "also_ok": ["two-entry"], "form": "title", "lang": "en"},
        {"text": "d", "slug": "NONE", "form": "title", "lang": "en"},
        {"text": "e", "slug": "NONE", "form": "log", "lang": "en"},
        {"text": "f", "slug": "missing", "form": "log", "lang": "en"},
    )
    given = {
        "a": (["one-entry"], True),
        "b": (["two-entry", "one-entry"], True),
        "c": (["two-entry"], False),
        "d": (["one-entry"], False),
        "e": (["one-entry"], True),
    }
    report = evaluate(path, index=index, answer=answers(given))
    overall = report.groups["all"]
    assert (overall.answerable, overall.none, report.skipped) == (3, 2, 1)
    assert overall.recall1 == pytest.approx(2 / 3)
    assert overall.recall3 == 1
    assert overall.mrr == pytest.approx((1 + 0.5 + 1) / 3)
    assert overall.declined_none == 0.5
    assert overall.declined_wrongly == pytest.approx(1 / 3)
    assert overall.answered_rightly == pytest.approx(1 / 3)
    assert overall.likely == pytest.approx(1 / 3)
    assert overall.exact is None
    assert report.groups["form:message"].recall1 == 0.5
    assert report.groups["lang:zh"].recall1 == 0
    assert report.groups["kind:silent"].answerable == 1
    assert [failure.line for failure in report.failures] == [2, 3, 5]
    assert "declined" in report.failures[1].why


def test_a_missing_mistake_is_answered_once_an_entry_has_its_name(index, queries):
    path = queries(
        {"text": "a", "slug": "MISSING", "missing": "one-entry", "ecosystem": "vision"},
        {"text": "b", "slug": "MISSING", "missing": "no-entry-yet", "ecosystem": "vision"},
    )
    report = evaluate(path, index=index, answer=answers({"a": (["one-entry"], True), "b": (["one-entry"], True)}))
    figures = report.groups["ecosystem:vision"]
    assert (figures.answerable, figures.none, figures.answered_rightly, figures.declined_none) == (1, 1, 1, 0)


def test_the_cause_counts_where_it_is_known_and_the_entry_is_right(index, queries):
    path = queries(
        {"text": "a", "slug": "one-entry", "causes": [1]},
        {"text": "b", "slug": "one-entry", "causes": [2]},
        {"text": "c", "slug": "one-entry"},
        {"text": "d", "slug": "one-entry", "causes": [1]},
    )
    given = {text: (["one-entry"], True) for text in "abc"} | {"d": (["two-entry"], True)}
    assert evaluate(path, index=index, answer=answers(given)).groups["all"].cause == 0.5


def test_scores_are_compared_with_the_share_of_right_answers(index, queries):
    path = queries(*({"text": text, "slug": "one-entry"} for text in "abcd"))
    right, wrong = (["one-entry"], True), (["two-entry"], True)
    report = evaluate(path, index=index, answer=answers({"a": right, "b": wrong, "c": wrong, "d": wrong}))
    assert [(part.queries, part.score, part.right) for part in report.reliability] == [(4, 0.5, 0.25)]
    assert report.groups["all"].calibration_error == 0.25


def test_the_report_prints_as_a_table_and_serialises(index, queries):
    report = evaluate(queries({"text": "RuntimeError: one of the three words", "slug": "one-entry"}), index=index)
    lines = format_report(report, failures=True).splitlines()
    assert lines[0].split()[:3] == ["group", "queries", "none"]
    assert lines[1].split()[:4] == ["all", "1", "0", "1.000"]
    json.dumps(report.to_dict())


def test_failures_are_listed_with_their_reasons(index, queries):
    report = evaluate(queries({"text": "RuntimeError: one of the three words", "slug": "two-entry"}), index=index)
    text = format_report(report, failures=True)
    assert "line 1: two-entry" in text
    assert "one-entry: RuntimeError: one of the three words" in text


@pytest.mark.parametrize("line", ["not json", "[]", '{"text": 1, "slug": "a"}', '{"text": "a"}'])
def test_a_line_that_is_no_query_is_named(tmp_path, line):
    path = tmp_path / "queries.jsonl"
    path.write_text('{"text": "a", "slug": "b"}\n' + line + "\n", "utf-8")
    with pytest.raises(ValueError, match=r"queries\.jsonl:2: "):
        read_queries(path)
