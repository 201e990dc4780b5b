"""Fit how entries are ranked and how sure an answer is, from labelled posts, and write the numbers that `kb.search.calibration` reads.

`python -m bench fit` fits on `fit.jsonl` and every second line of `catalogue.jsonl`, and chooses the regularization on `choose.jsonl` and the
other lines. It never opens `test.jsonl`. The vectors of terms and of sentences that ship have learnt from `fit.jsonl` too (`bench embed`, `bench sentences`),
so the weights are fitted beside vectors that have not, which are learnt first. The same posts and entries give the same file, byte for byte, on processors with
the same instructions.
`--dry-run` prints the report alone.
"""

import argparse
import json
import os
from collections import Counter
from pathlib import Path
from statistics import mean, pstdev
from typing import NamedTuple

from bench.embed import index_without_posts
from bench.fit_cause import choose_cause_weights, read_causes
from bench.fit_message import choose_message, judge_messages, likely_share
from bench.fit_posts import Post, answered_posts, as_they_come, folds, made_posts, read_posts, with_popularity
from bench.linear import (
    STRENGTHS,
    best_strength,
    fit_linear,
    fit_order,
    log_losses,
    log_share,
    lowest_precise,
    right_share,
)
from bench.posts import CHOOSE, FIT, catalogue_halves
from bench.sentences import learn as learn_sentences
from bench.sentences import make_questions
from kb.index.manager import open_index
from kb.index.sentences import SentenceModel, sentence_model
from kb.search.calibration import EVEN, WEIGHTS_FILE, Linear, WordsModel, probability
from kb.search.evaluation import read_queries
from kb.search.ranking import rank
from kb.search.signals import answer_signals, entry_signals

_SHOWN = tuple(percent / 100 for percent in range(20, 90, 5))
"""The thresholds that the report shows."""

_PRECISION = 0.77
"""What *likely* promises: of four such answers to posts as they come, three are right. More would decline most of what is answered rightly. The two
hundredths more are for the labels, which were chosen among what kb itself finds."""

_PRECISION_OF_SENTENCES = 0.8
"""The same with a model of sentences: half of what it brings goes into more right answers, and half into fewer wrong ones where no entry answers."""


def fit_ranking(posts, strength) -> Linear:
    """Return the score by which the right entry differs from each wrong one: logistic regression over differences of signals, each post counting once."""
    groups = []
    for post in posts:
        compared = sorted(post.compared, key=lambda features: features.slug)
        right = [number for number, features in enumerate(compared) if features.slug in post.right]
        groups.append(([entry_signals(features) for features in compared], right, post.weight))
    return fit_order(groups, strength)


def answer_rows(posts, ranking):
    """Return the signals of the first entry of each post that words answer, whether it is right, and what the post counts."""
    ranked = [(post, rank(post.compared, ranking)) for post in posts if post.compared]
    rows = [answer_signals(post.reading, entries) for post, entries in ranked]
    return rows, [entries[0][1].slug in post.right for post, entries in ranked], [post.weight for post, _ in ranked]


def fit_answer(posts, ranking_strength, strength) -> Linear:
    """Return the log odds that the first entry answers, fitted on rankings that did not see the post's source."""
    rows, labels, weights = [], [], []
    for others, own in folds(posts):
        judged = answer_rows(own, fit_ranking(others, ranking_strength))
        rows, labels, weights = rows + judged[0], labels + judged[1], weights + judged[2]
    return fit_linear(rows, labels, strength, weights)


def ranking_losses(posts, ranking):
    """Return the negative logarithm of the right entries' share of the odds, of each post that has one among those compared."""
    losses = []
    for post in posts:
        scored = rank(post.compared, ranking)
        right = [number for number, (_, features) in enumerate(scored) if features.slug in post.right]
        if right:
            losses.append(-log_share([score for score, _ in scored], right))
    return losses


def right_first(posts, ranking):
    """Return the share of the posts that words answer, and that some entry answers, whose first entry is right."""
    of_words = [post for post in posts if post.compared and post.right]
    return sum(rank(post.compared, ranking)[0][1].slug in post.right for post in of_words) / len(of_words)


class Judged(NamedTuple):
    """What becomes of a post: the level at which a message answers it, empty where none does, then how probable it is that the first entry is right.

    `is_right` says that the first entry answers, `has_entry` that some entry does, and `weight` is what the post counts.
    """

    level: str
    probability: float
    is_right: bool
    has_entry: bool
    weight: float


def judge(posts, ranking, answer, message=None, known=None) -> list[Judged]:
    """Return what becomes of the posts; `message` gives the log odds of whole messages by the reliabilities `known`, without which these count for nothing."""
    judged = []
    for post in posts:
        first, probable = post.first, 0.0
        if post.level == "exact" and message:
            ((probable, _, _),) = judge_messages([post], message, known)
        if post.compared:
            entries = rank(post.compared, ranking)
            first, probable = entries[0][1].slug, probability(answer(answer_signals(post.reading, entries)))
        judged.append(Judged(post.level, probable, first in post.right, bool(post.right), post.weight))
    return judged


def judge_unseen(posts, ranking_strength, strength) -> list[Judged]:
    """Return what becomes of the posts of each source that words answer, when everything is fitted on those of the others."""
    judged = []
    for others, own in folds(posts):
        ranking, answer = fit_ranking(others, ranking_strength), fit_answer(others, ranking_strength, strength)
        judged += judge([post for post in own if not post.level], ranking, answer)
    return judged


class Outcome(NamedTuple):
    """Shares over some posts: answered rightly where an entry exists, declined there, answered where none does, and right among those that words answer."""

    rightly: float
    declined: float
    misled: float
    precision: float


def outcome(judged, threshold) -> Outcome:
    """Return the shares at a threshold of words. A part of a message answers whatever it is, and a whole one from even odds on."""
    answerable = [post for post in judged if post.has_entry]
    least = {"likely": 0.0, "exact": EVEN, "": threshold}
    answered = [post for post in judged if post.probability >= least[post.level]]
    by_words = [post for post in answered if not post.level]
    return Outcome(
        sum(post.is_right for post in answered) / len(answerable),
        1 - sum(post.has_entry for post in answered) / len(answerable),
        sum(not post.has_entry for post in answered) / max(1, len(judged) - len(answerable)),
        right_share((post.is_right, post.weight) for post in by_words),
    )


class Labelled(NamedTuple):
    """What is fitted on and chosen on: the posts as they come, these and the catalogue's queries, and those with the queries made for the purpose; then the
    posts and the queries held out."""

    posts: list[Post]
    with_queries: list[Post]
    fitted: list[Post]
    held_posts: list[Post]
    held_queries: list[Post]


def read_labelled(index, without_posts) -> Labelled:
    """Return the posts as a look-up sees them; those that are fitted on by vectors that have not learnt from posts."""
    fitted_half, chosen_half = catalogue_halves()
    labelled = as_they_come(read_posts(without_posts, read_queries(FIT)))
    counts = answered_posts(labelled)
    posts = with_popularity(labelled + read_posts(without_posts, fitted_half), counts)
    return Labelled(
        with_popularity(labelled, counts),
        posts,
        posts + with_popularity(made_posts(without_posts, len(posts)), counts),
        with_popularity(as_they_come(read_posts(index, read_queries(CHOOSE))), counts),
        with_popularity(read_posts(index, chosen_half), counts),
    )


def fit_words(labelled, message, precision) -> WordsModel:
    """Return how what words find is ranked and judged, and print what was tried; `message` judges whole messages, and `precision` is what is promised."""
    held = labelled.held_posts + labelled.held_queries
    rankings = {strength: fit_ranking(labelled.fitted, strength) for strength in STRENGTHS}
    of_rankings = {strength: ranking_losses(held, ranking) for strength, ranking in rankings.items()}
    ranking_strength = best_strength(of_rankings)
    ranking = rankings[ranking_strength]
    rows, labels, _ = answer_rows(held, ranking)
    answers = {strength: fit_answer(labelled.fitted, ranking_strength, strength) for strength in STRENGTHS}
    of_answers = {strength: log_losses(answer, rows, labels) for strength, answer in answers.items()}
    strength = best_strength(of_answers)
    answer = answers[strength]

    print("| C | right first of what words find | log loss of the ranking | of the answer |\n|---:|---:|---:|---:|")
    for at in STRENGTHS:
        print(
            f"| {at:g} | {right_first(held, rankings[at]):.3f} | {mean(of_rankings[at]):.4f} | {mean(of_answers[at]):.4f} |"
        )
    print(f"\nChosen: C = {ranking_strength:g} for the ranking, {strength:g} for the answer.\n")
    print(
        "| threshold | posts: rightly answered | declined | misled | precision by words | catalogue: rightly answered | declined | misled |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    judged = judge(labelled.held_posts, ranking, answer, *message)
    of_catalogue = judge(labelled.held_queries, ranking, answer, *message)
    for at in _SHOWN:
        cells = [*outcome(judged, at), *outcome(of_catalogue, at)[:3]]
        print(f"| {at:.2f} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")
    unseen = judge_unseen(labelled.posts, ranking_strength, strength)
    by_words = [post for post in judged + of_catalogue + unseen if not post.level]
    threshold = lowest_precise([(post.probability, post.is_right, post.weight) for post in by_words], precision, near=5)
    print(
        f"\nChosen: {threshold:.2f}, at which {precision:.0%} of the answers by words to these and to the posts of {FIT.name}, each unseen, are right."
    )
    print("\n| signal | weight | times its deviation |\n|---|---:|---:|")
    for name, weight, effect in by_effect(answer, answer_rows(labelled.with_queries, ranking)[0]):
        print(f"| {name} | {weight:g} | {effect:+.2f} |")
    return WordsModel(ranking, answer, threshold)


def main(argv):
    parser = argparse.ArgumentParser(prog="python -m bench fit", description=__doc__.splitlines()[0])
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    arguments = parser.parse_args(argv)
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
    ):  # sums in one order, so that the file is the same each time
        os.environ[name] = "1"
    index = open_index(wait=True)
    without_posts = index_without_posts(index)
    index.sentences = without_posts.sentences = None
    labelled = read_labelled(index, without_posts)
    print(
        f"Fitted on {len(labelled.with_queries)} posts and {len(labelled.fitted) - len(labelled.with_queries)} queries made for the purpose; "
        f"{len(index)} entries."
    )
    print(f"Chosen on {len(labelled.held_posts)} posts and {len(labelled.held_queries)} queries of the catalogue.\n")
    message, exact, by_entry, usual = choose_message(labelled.posts, labelled.held_posts)
    print("\n## Without a model of sentences\n")
    words = fit_words(labelled, (message, (by_entry, usual)), _PRECISION)
    print("\n## With one\n")
    index.sentences, without_posts.sentences = sentence_model(), SentenceModel(learn_sentences(make_questions()))
    sentences = fit_words(read_labelled(index, without_posts), (message, (by_entry, usual)), _PRECISION_OF_SENTENCES)
    fitted_half, chosen_half = catalogue_halves()
    cause = choose_cause_weights(
        read_causes(without_posts, [*read_queries(FIT), *fitted_half]),
        read_causes(index, [*read_queries(CHOOSE), *chosen_half]),
    )
    data = {
        "popularity": dict(sorted(sum(answered_posts(labelled.posts).values(), Counter()).items())),
        "words": written(words),
        "sentences": written(sentences),
        "messages": {
            "intercept": message.intercept,
            "weights": dict(message.weights),
            "exact": exact,
            "reliability": by_entry,
            "usual_reliability": usual,
            "likely": likely_share(labelled.with_queries),
        },
        "cause": {"weights": dict(cause.weights)},
    }
    text = json.dumps(data, indent=1) + "\n"
    if not arguments.dry_run:
        Path(WEIGHTS_FILE).parent.mkdir(exist_ok=True)
        is_new = not Path(WEIGHTS_FILE).exists() or Path(WEIGHTS_FILE).read_text("utf-8") != text
        Path(WEIGHTS_FILE).write_text(text, "utf-8")
        print(f"\n{WEIGHTS_FILE}: {'written' if is_new else 'unchanged'}")


def written(fitted):
    """Return the model of what words find as `kb.search.calibration` reads it."""
    ranking, answer, threshold = fitted
    return {
        "ranking": {"weights": dict(ranking.weights)},
        "answer": {"intercept": answer.intercept, "weights": dict(answer.weights), "threshold": threshold},
    }


def by_effect(linear, rows):
    """Return (signal, weight, weight times the signal's standard deviation), the most effective first."""
    effects = [(name, weight, weight * pstdev(row[name] for row in rows)) for name, weight in linear.weights.items()]
    return sorted(effects, key=lambda row: -abs(row[2]))
