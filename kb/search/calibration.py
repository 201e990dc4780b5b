"""How probable it is that an answer is right: numbers that `python -m bench fit` wrote, evaluated in plain Python."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from functools import cache

from kb.startup.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["EVEN", "WEIGHTS_FILE", "Linear", "Model", "WordsModel", "model", "probability", "read_model"]

WEIGHTS_FILE = os.path.join(os.path.dirname(__file__), "data", "confidence.json")

EVEN = 0.5
"""The probability below which the entry of a whole message is wrong more often than right: then it is only related."""


class Linear(NamedTuple):
    """A weighted sum of signals."""

    weights: Mapping[str, float]
    intercept: float = 0.0

    def __call__(self, signals: Mapping[str, float]) -> float:
        """Return the sum; KeyError if a signal is missing."""
        return self.intercept + sum(weight * signals[name] for name, weight in self.weights.items())


class WordsModel(NamedTuple):
    """How what words find is ranked and judged.

    `ranking` gives the score, in nats, by which entries are ordered, and `answer` the log odds that the first of them answers. From the probability
    `threshold` on it is shown as the answer.
    """

    ranking: Linear
    answer: Linear
    threshold: float


class Model(NamedTuple):
    """What was fitted.

    `popularity` has the number of labelled posts that an entry answers, for those that answer any. `words` is for what words find, and `sentences` for the same
    where a model of sentences compares as well. `message` gives the log odds that the entry of a message that matched whole answers; from the probability
    `exact` on it is called that. `reliability` has the log odds of the entries whose message labelled posts had, from their share of right answers;
    `usual_reliability` is that of the others. `likely` is the share of right answers among the messages that matched in part. `cause` gives the score, in
    nats, by which the causes of an entry are compared.
    """

    popularity: Mapping[str, int]
    words: WordsModel
    sentences: WordsModel
    message: Linear
    exact: float
    reliability: Mapping[str, float]
    usual_reliability: float
    likely: float
    cause: Linear


@cache
def model() -> Model:
    """Return the numbers that ship."""
    with open(WEIGHTS_FILE, encoding="utf-8") as file:
        return read_model(json.load(file))


def read_model(data: Mapping[str, Any]) -> Model:
    """Return the model of the data in the file."""
    messages = data["messages"]
    return Model(
        data["popularity"],
        _read_words(data["words"]),
        _read_words(data["sentences"]),
        Linear(messages["weights"], messages["intercept"]),
        messages["exact"],
        messages["reliability"],
        messages["usual_reliability"],
        messages["likely"],
        Linear(data["cause"]["weights"]),
    )


def _read_words(data: Mapping[str, Any]) -> WordsModel:
    ranking, answer = data["ranking"], data["answer"]
    return WordsModel(Linear(ranking["weights"]), Linear(answer["weights"], answer["intercept"]), answer["threshold"])


def probability(log_odds: float) -> float:
    """Return the probability for log odds, without overflow."""
    if log_odds < 0:
        return 1.0 - probability(-log_odds)
    return 1.0 / (1.0 + math.exp(-log_odds))
