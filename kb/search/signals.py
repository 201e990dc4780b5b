"""What a look-up knows of an entry, as named numbers: those by which entries are ranked, and those by which kb judges whether the first is the answer."""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Sequence

from kb.search.out_of_scope import names_other_framework
from kb.search.reading import Reading
from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple
from kb.text.paste_context import package_stack
from kb.text.software import BUILT_ON_PYTORCH, names_pytorch
from kb.text.tracebacks import ErrorSpan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.index.embeddings import Similarity

__all__ = ["Features", "answer_signals", "entry_signals", "is_foreign", "lacks_message"]

_PARAPHRASE = 0.4
"""The cosine from which a title or alias begins to say the same as the paste. Above it the ranking may weigh the cosine otherwise than below."""

_SAME_WORDS = 0.65
"""The cosine from which a title or alias is nearly the whole paste. Posts seldom reach it; a title that is typed does."""

_MAX_PHRASE_COVERAGE = 2.0
"""A title or alias may be covered more than once over, because terms count by their zone. More than twice is no surer."""

_PYTORCH = lazy_pattern(
    r"\b(?:(?:lib|py|py_)?torch|aten|c10d?)\b|\btorch(?:_cpu|_python|[a-z])|cuda|cudnn|cublas|nccl|\bTHC", re.IGNORECASE
)
"""What shows, in an error, its frame or its code, that PyTorch raised it; `acme_torch_utils` does not."""

_PRINTED_VALUE = lazy_pattern(r"torch\.(?:Size\(\[[\d, ]*+\]\)|[a-z]++\d++)")
"""A size or a dtype as anybody's message prints it: it does not show who raised the error."""


class Features(NamedTuple):
    """What an entry shares with a paste.

    `bm25` is the BM25F score in nats and `information` that of the whole query. `message_similarity` compares the root cause with the
    entry's most similar message, from 0 to 1. `phrase_coverage` is how much of its most similar title or alias occurs in the paste, and
    `paraphrase_similarity` the cosine between the two. `shared_terms` are the common terms, the most important first, and `coverage` is
    their share of the query's importance. `similarity` compares the paste with what the entry says of itself, and `nearness` does so by a model of
    sentences; it is None where there is none. `popularity` is the number of labelled posts that the entry answers. `is_silent` says that the entry is
    about a mistake without a message, and `has_error` that the paste shows or names one.
    """

    slug: str
    bm25: float
    information: float
    message_similarity: float
    phrase_coverage: float
    paraphrase_similarity: float
    shared_terms: tuple[str, ...]
    coverage: float
    similarity: Similarity
    nearness: float | None
    popularity: int
    is_silent: bool
    has_error: bool


def entry_signals(features: Features) -> dict[str, float]:
    """Return the numbers by which an entry is ranked among the others for the same paste."""
    is_unshown = not features.has_error and not features.is_silent
    by_sentences = {} if features.nearness is None else {"nearness": features.nearness}
    return by_sentences | {
        "bm25": features.bm25,
        "bm25_share": features.bm25 / (features.information or 1.0),
        "coverage": features.coverage,
        "message_similarity": features.message_similarity,
        "phrase_coverage": features.phrase_coverage,
        "paraphrase_similarity": features.paraphrase_similarity,
        "paraphrase_excess": max(0.0, features.paraphrase_similarity - _PARAPHRASE),
        "same_words": max(0.0, features.paraphrase_similarity - _SAME_WORDS),
        "term_similarity": features.similarity.terms,
        "meaning": features.similarity.meaning,
        "popularity": math.log1p(features.popularity),
        "is_silent": float(features.is_silent),
        "is_unshown": float(is_unshown),
        "is_unshown_bm25": is_unshown * features.bm25,
    }


def answer_signals(reading: Reading, ranked: Sequence[tuple[float, Features]]) -> dict[str, float]:
    """Return the numbers by which the first of the ranked entries is judged; `ranked` has the score of each, in nats, and is not empty.

    `share` is the logarithm of the first entry's share of the odds of all of them, and `meaning_lead` how much nearer its meaning is than that of any other.
    An entry that shares nothing, whose score is 0, is always among the others, so a single candidate has to share something too.
    """
    first, best = ranked[0]
    scores = [score for score, _ in ranked[1:]] + [0.0]
    text, cause = reading.text.text, reading.root_cause()
    is_error = cause is not None
    is_raised_by_pytorch = cause is not None and _raised_by_pytorch(reading, cause)
    bm25 = math.log1p(best.bm25)
    by_sentences = {}
    if best.nearness is not None:
        next_nearest = max((other.nearness or 0.0 for _, other in ranked[1:]), default=0.0)
        by_sentences = {"nearness": best.nearness, "nearness_lead": best.nearness - next_nearest}
    return by_sentences | {
        "share": -math.log(1.0 + sum(math.exp(score - first) for score in scores)),
        "bm25": bm25,
        "coverage": best.coverage,
        "phrase_coverage": min(best.phrase_coverage, _MAX_PHRASE_COVERAGE),
        "term_similarity": best.similarity.terms,
        "meaning_lead": best.similarity.meaning
        - max((other.similarity.meaning for _, other in ranked[1:]), default=0.0),
        "same_words": max(0.0, best.paraphrase_similarity - _SAME_WORDS),
        "is_silent": float(best.is_silent),
        "is_error": float(is_error),
        "is_warning": float(cause is not None and cause.role == "warning"),
        "is_without_message": float(cause is not None and not cause.message),
        "is_raised_by_pytorch": float(is_raised_by_pytorch),
        "has_frames_of_pytorch": float(not BUILT_ON_PYTORCH.isdisjoint(package_stack(text, reading.errors))),
        "is_of_any_program": float(_is_of_any_program(reading)),
        "names_other_framework": float(names_other_framework(text)),
        "error_bm25": is_error * bm25,
        "length": math.log1p(len(text)),
    }


def is_foreign(reading: Reading) -> bool:
    """Tell whether the paste shows an error that any program may raise, and nothing of PyTorch."""
    return _is_of_any_program(reading) and not names_pytorch(reading.text.text)


def lacks_message(reading: Reading, features: Features) -> bool:
    """Tell whether the root cause has no message, and the entry is about one that has: the log above it is not what went wrong."""
    cause = reading.root_cause()
    return cause is not None and not cause.message and not features.is_silent


def _is_of_any_program(reading: Reading) -> bool:
    """Tell whether the root cause is of a type of Python's, and not PyTorch's. Operators raise RuntimeError, which other programs seldom do."""
    cause = reading.root_cause()
    is_of_python = cause is not None and cause.type != "RuntimeError" and hasattr(builtins, cause.type)
    return cause is not None and is_of_python and not _raised_by_pytorch(reading, cause)


def _raised_by_pytorch(reading: Reading, error: ErrorSpan) -> bool:
    """Tell whether the error, or the frame or code just above it, names PyTorch."""
    lines = reading.text.text[: error.start].rstrip().rsplit("\n", 3)[-3:]
    above = [line for line in lines if line.strip("^~ ")][-2:]
    return bool(_PYTORCH.search(_PRINTED_VALUE.sub(" ", " ".join([*above, error.type, error.message]))))
