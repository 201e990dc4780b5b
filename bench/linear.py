"""Logistic regression over named signals, with scikit-learn."""

import math
from statistics import mean

from kb.search.calibration import Linear, probability

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Inverse strengths of the L2 penalty that are tried, for signals that are scaled to variance 1."""

_DIGITS = 5

_THRESHOLDS = tuple(number / 100 for number in range(20, 100))


def fit_linear(rows, labels, strength, weights=None, *, intercept=True) -> Linear:
    """Return logistic regression over named signals, as weights of the signals themselves."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    names = list(rows[0])
    scaler = StandardScaler(with_mean=intercept)
    values = scaler.fit_transform([[row[name] for name in names] for row in rows])
    model = LogisticRegression(C=strength, fit_intercept=intercept, max_iter=5_000, tol=1e-8)
    model.fit(values, labels, sample_weight=weights)
    by_name = {name: float(weight) for name, weight in zip(names, model.coef_[0] / scaler.scale_, strict=True)}
    moved = sum(model.coef_[0] * scaler.mean_ / scaler.scale_) if intercept else 0.0
    return rounded(by_name, float(model.intercept_[0] - moved) if intercept else 0.0)


def fit_order(groups, strength) -> Linear:
    """Return the score by which a right row differs from each wrong one: logistic regression over differences of signals.

    A group is a list of rows, the numbers of the right ones, and what the group counts, which its pairs share.
    """
    rows, labels, weights = [], [], []
    for signals, right, weight in groups:
        wrong = [number for number in range(len(signals)) if number not in right]
        for better in right:
            for worse in wrong:
                difference = {name: value - signals[worse][name] for name, value in signals[better].items()}
                rows += [difference, {name: -value for name, value in difference.items()}]
                labels += [True, False]
                weights += [weight / (len(right) * len(wrong))] * 2
    return fit_linear(rows, labels, strength, weights, intercept=False)


def rounded(weights, intercept) -> Linear:
    """Return the model with so few digits that the last bits of a sum do not matter."""
    return Linear(
        {name: float(f"{weight:.{_DIGITS}g}") for name, weight in weights.items()}, float(f"{intercept:.{_DIGITS}g}")
    )


def best_strength(losses):
    """Return the C whose mean loss is lowest; `losses` has those of each post by C.

    Of losses that are equal to the hundredth, by which two seeds of the vectors differ, the weakest penalty counts, because there are thousands of posts
    for a dozen weights.
    """
    return min(losses, key=lambda strength: (round(mean(losses[strength]), 2), -strength))


def log_share(scores, right):
    """Return the logarithm of the share of the odds that the scores at the places `right` have together; scores are in nats."""
    return _log_sum([scores[number] for number in right]) - _log_sum(scores)


def _log_sum(scores):
    return max(scores) + math.log(sum(math.exp(score - max(scores)) for score in scores))


def log_losses(linear, rows, labels):
    """Return the negative logarithm of the probability given to what was so, of each row."""
    probabilities = [probability(linear(row)) for row in rows]
    return [-math.log(p if is_right else 1 - p) for p, is_right in zip(probabilities, labels, strict=True)]


def right_share(answers) -> float:
    """Return the share of the right ones among answers, each of which is whether it is right and a weight; 0 if there are none."""
    right = total = 0.0
    for is_right, weight in answers:
        right, total = right + weight * is_right, total + weight
    return right / total if total else 0.0


def lowest_precise(judged, promised, near):
    """Return the lowest threshold from which a promised share is right; the highest that is tried where there is none.

    `judged` has a probability, whether it was right, and a weight of each answer. The share at a threshold is the mean over those up to `near` hundredths from
    it, because few answers lie between two of them.
    """
    shares = []
    for threshold in _THRESHOLDS:
        above = [(is_right, weight) for probability, is_right, weight in judged if probability >= threshold]
        if above:
            shares.append(right_share(above))
    smooth = [mean(shares[max(0, at - near) : at + near + 1]) for at in range(len(shares))]
    return next((at for at, share in zip(_THRESHOLDS, smooth, strict=False) if share >= promised), _THRESHOLDS[-1])
