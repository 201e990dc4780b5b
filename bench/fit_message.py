"""Fit how sure the answer of a whole message is: by how often its entry answered posts with that message, and by what else the paste shows."""

import math
from collections import Counter
from statistics import mean

from bench.fit_posts import Post, folds
from bench.linear import STRENGTHS, best_strength, fit_linear, log_losses, lowest_precise
from kb.search.calibration import Linear, probability

_PRIOR_POSTS = 5
"""The number of posts of the usual share that each entry's own are added to."""

_PRECISION = 0.97
"""What *exact* promises: of a hundred such answers to posts as they come, 97 are right."""


def of_messages(posts) -> list[Post]:
    """Return the posts that a whole message answers."""
    return [post for post in posts if post.level == "exact"]


def reliabilities(posts) -> tuple[dict[str, float], float]:
    """Return the log odds that an entry answers a post with its message, for the entries of these posts, and those of all other entries.

    Each entry begins with as many posts of the usual share as `_PRIOR_POSTS`.
    """
    usual = mean(post.first in post.right for post in posts)
    counts = Counter(post.first for post in posts)
    right = Counter(post.first for post in posts if post.first in post.right)
    return {
        slug: round(_log_odds((right[slug] + _PRIOR_POSTS * usual) / (count + _PRIOR_POSTS)), 3)
        for slug, count in sorted(counts.items())
    }, round(_log_odds(usual), 3)


def _log_odds(share):
    return math.log(share / (1 - share))


def message_rows(posts, known_by):
    """Return the signals of each post that a whole message answers, the reliabilities counted as `known_by(post)` knows them, and whether it is right."""
    rows = []
    for post in posts:
        by_entry, usual = known_by(post)
        rows.append(post.message | {"reliability": by_entry.get(post.first, usual)})
    return rows, [post.first in post.right for post in posts]


def fit_message(posts, strength) -> Linear:
    """Return the log odds that the entry of a whole message answers, fitted on reliabilities that did not count the post's source."""
    sources = {post.source: reliabilities([other for other in posts if other.source != post.source]) for post in posts}
    return fit_linear(*message_rows(posts, lambda post: sources[post.source]), strength)


def judge_messages(posts, message, known):
    """Return, of each post, the probability that its whole message answers, whether it does, and what the post counts; `known` are the reliabilities."""
    rows, labels = message_rows(posts, lambda _post: known)
    return [
        (probability(message(row)), is_right, post.weight)
        for row, is_right, post in zip(rows, labels, posts, strict=True)
    ]


def judge_unseen_messages(posts, strength):
    """Return the same of each post, when everything is fitted on the posts of other sources."""
    return [
        answer
        for others, own in folds(posts)
        for answer in judge_messages(own, fit_message(others, strength), reliabilities(others))
    ]


def choose_message(fitted, held):
    """Return how the entries of whole messages are judged, the probability from which they are exact, and the reliabilities of entries.

    Print how that does on the posts held out.
    """
    known, new = of_messages(fitted), of_messages(held)
    by_entry, usual = reliabilities(known)
    rows, labels = message_rows(new, lambda _post: (by_entry, usual))
    candidates = {strength: fit_message(known, strength) for strength in STRENGTHS}
    losses = {strength: log_losses(candidate, rows, labels) for strength, candidate in candidates.items()}
    strength = best_strength(losses)
    alike = mean(log_losses(Linear({}, usual), rows, labels))
    print(
        f"\nWhole messages: log loss {alike:.4f} with one share for all, {mean(losses[strength]):.4f} by signals, C = {strength:g}."
    )
    message = candidates[strength]
    judged = judge_messages(new, message, (by_entry, usual))
    exact = lowest_precise(judged + judge_unseen_messages(known, strength), _PRECISION, near=1)
    for least in (0.0, 0.5, 0.8, exact):
        right = [is_right for probable, is_right, _ in judged if probable >= least]
        print(f"From {least:.2f} on: {len(right)} posts, {mean(right):.3f} answered rightly.")
    print(
        f"Exact from {exact:.2f} on, where {_PRECISION:.0%} of these and of the fitted posts, each unseen, are answered rightly."
    )
    return message, exact, by_entry, usual


def likely_share(posts):
    """Return the share of right answers among the posts that a message answers in part; one of each kind is added, because there are few."""
    answered = [post.first in post.right for post in posts if post.level == "likely"]
    return round((sum(answered) + 1) / (len(answered) + 2), 4)
