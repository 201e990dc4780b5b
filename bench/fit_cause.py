"""Fit how the causes of an entry are compared, from posts whose cause is known."""

from statistics import mean
from typing import NamedTuple

from bench.linear import STRENGTHS, best_strength, fit_order, log_share
from kb.search.cause_choice import CLAIM, cause_signals, shares
from kb.search.lookup import best_reading
from kb.search.query import make_query


class Caused(NamedTuple):
    """A post whose message does not name the cause: the signals of each cause of its entry, and the numbers of the right ones, from 0."""

    rows: list[dict[str, float]]
    right: list[int]


def read_causes(index, queries) -> list[Caused]:
    """Return the posts of which the cause has to be chosen, as a look-up that finds their entry sees them."""
    posts = []
    for query in queries:
        if not query.get("causes"):
            continue
        slug, document = query["slug"], index.document(query["slug"])
        reading, matches = best_reading(index, query["text"])
        template = next((match.hit.template.source for match in matches if match.slug == slug), "")
        if template not in document["causes"]:
            vectors = index.embeddings.cause_vectors(slug, template)
            similarities = make_query(index, reading).cause_similarities(vectors, template)
            rows = cause_signals(document, query["text"], template, similarities)
            posts.append(Caused(rows, [number - 1 for number in query["causes"]]))
    return posts


def fit_cause(posts, strength):
    """Return the score by which the right cause differs from each other one; each post counts once."""
    return fit_order([(post.rows, post.right, 1.0) for post in posts], strength)


def choose_cause_weights(fitted, held):
    """Return the weights, fitted on the first posts with the strength that does best on the others; print how they do there."""
    candidates = {strength: fit_cause(fitted, strength) for strength in STRENGTHS}
    losses = {
        strength: [-log_share([linear(row) for row in post.rows], post.right) for post in held]
        for strength, linear in candidates.items()
    }
    strength = best_strength(losses)
    judged = []
    for post in held:
        probable = shares([candidates[strength](row) for row in post.rows])
        best = max(probable)
        judged.append((best, probable.index(best) in post.right))
    sure = [is_right for best, is_right in judged if best >= CLAIM]
    print(
        f"\nCauses: {len(fitted)} posts, and {len(held)} held out; of these {mean(is_right for _, is_right in judged):.3f} get a right one "
        f"({mean(0 in post.right for post in held):.3f} by the first), log loss {mean(losses[strength]):.4f}, C = {strength:g}. "
        f"Of the {len(sure)} that are as probable as a claim has to be {mean(sure):.3f}."
    )
    print("| signal | weight |\n|---|---:|")
    for name, weight in sorted(candidates[strength].weights.items(), key=lambda pair: -abs(pair[1])):
        print(f"| {name} | {weight:g} |")
    return candidates[strength]
