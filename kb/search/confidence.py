"""Decide whether the best entry answers the paste, or is only related to it."""

from __future__ import annotations

import re

from kb.index.reader import Index
from kb.search.out_of_scope import names_other_framework, names_other_software
from kb.search.ranking import PARAPHRASE_THRESHOLD, Features
from kb.search.reading import Reading
from kb.text.tracebacks import SIGNALS, ErrorSpan

__all__ = ["is_confident"]

QUESTION_THRESHOLD = 4.5
"""The BM25F score, in nats, from which a question is answered; less is enough if a title or an alias occurs in it."""

OTHER_SOFTWARE_FACTOR = 3.0
"""Factor of the threshold for a question that names another library or tool and nothing of PyTorch."""

ANSWER_THRESHOLD = 2.4
"""The threshold for an error: four times the similarity of its message, plus the coverage of the query, plus one if PyTorch raised it."""

FOREIGN_SIMILARITY = {"RuntimeError": 0.45}
DEFAULT_FOREIGN_SIMILARITY = 0.9
"""The message similarity that an error needs, by its type, if nothing shows that PyTorch raised it."""

_PYTORCH = re.compile(
    r"\b(?:(?:lib|py|py_)?torch|aten|c10d?)\b|\btorch(?:_cpu|_python|[a-z])|cuda|cudnn|cublas|nccl|\bTHC",
    re.IGNORECASE,
)
"""What shows, in an error, its frame or its code, that PyTorch raised it; `acme_torch_utils` does not."""


def is_confident(index: Index, reading: Reading, best: Features) -> bool:
    """Tell whether the best entry answers the paste.

    The message of an error has to be similar; the less it is, the more the rest has to be, or PyTorch has to have raised
    it. An error without a message needs a type that entries mention, and a question has to share enough with the entry.
    """
    cause = reading.root_cause()
    text = reading.text.text
    if cause is None:
        if best.paraphrase_similarity >= PARAPHRASE_THRESHOLD:
            return True
        if names_other_framework(text):
            return False
        if names_other_software(text):
            return best.bm25 >= OTHER_SOFTWARE_FACTOR * QUESTION_THRESHOLD
        return best.bm25 >= QUESTION_THRESHOLD or (best.bm25 >= 0.6 * QUESTION_THRESHOLD and best.phrase_coverage >= 1)
    if not cause.message or cause.type in SIGNALS:
        is_mentioned = cause.type in SIGNALS or index.vectors.document_frequency(cause.type.lower())
        return bool(is_mentioned) and best.bm25 >= 2 * QUESTION_THRESHOLD
    is_pytorch = _raised_by_pytorch(reading, cause) and not names_other_software(text)
    if not is_pytorch and best.message_similarity < FOREIGN_SIMILARITY.get(cause.type, DEFAULT_FOREIGN_SIMILARITY):
        return False
    return 4 * best.message_similarity + best.coverage + is_pytorch >= ANSWER_THRESHOLD


def _raised_by_pytorch(reading: Reading, error: ErrorSpan) -> bool:
    """Tell whether the error, or the frame or code just above it, names PyTorch."""
    lines = reading.text.text[: error.start].rstrip().rsplit("\n", 3)[-3:]
    above = [line for line in lines if line.strip("^~ ")][-2:]
    return bool(_PYTORCH.search(" ".join([*above, error.type, error.message])))
