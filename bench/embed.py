"""Learn the vectors of terms, and write the file that `kb.index.embeddings` reads.

A question is one of an entry's titles, answers or aliases, a text of `posts/written.jsonl`, or a post of `posts/fit.jsonl`. The vectors are those by which a
question is nearer to its entry than to all others, and, where its cause is known, nearer to that than to the entry's other causes: softmax over cosines, by
Adam, from vectors at chance. An entry is compared without the very text that asks, and a question without some of its terms. Posts that kb is measured by
are not read. Takes some two minutes; a processor with other instructions may give other last digits.
"""

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from bench.posts import FIT, WRITTEN
from kb.corpus.loader import load
from kb.index.embeddings import (
    DIMENSIONS,
    EMBEDDINGS_FILE,
    Embeddings,
    cause_texts,
    entry_rows,
    own_texts,
    text_weights,
    weightiest,
    write_vector,
)
from kb.index.manager import open_index
from kb.index.reader import Index
from kb.index.storage import WriteBuffer
from kb.search.evaluation import read_queries
from kb.search.lookup import best_reading
from kb.search.query import make_query
from kb.text.analyzer import terms

_LEAST_TEXTS = 2
"""In how many texts a term has to stand."""

_EPOCHS = 10
_BATCH = 512
_LEARNING_RATE = 0.02
_SHARPNESS = 8.0
"""What cosines are multiplied by before the softmax."""

_DROPPED = 0.3
"""The share of a question's terms that are left out at a time."""

_RANGE = 4.0
"""How many standard deviations the largest number stands for; what is beyond is cut off."""


class Question(NamedTuple):
    """A text by its weighted terms, the number of its entry, that of its cause among all causes or -1 if it is unknown, and what of the entry is this text."""

    weights: dict[str, float]
    entry: int
    cause: int
    itself: dict[str, float]


class Lesson(NamedTuple):
    """What the vectors are learnt from: the questions, the weighted terms of each entry and each cause, the entry of each cause, and idf by term."""

    questions: list[Question]
    entries: list[Counter[str]]
    causes: list[dict[str, float]]
    entry_of_cause: list[int]
    idf: dict[str, float]


def make_lesson(posts=()) -> Lesson:
    """Return what is to be learnt: from the entries, from the texts that were written for them, and from posts, which are pairs of a label and its query."""
    entries, written = list(load()), read_queries(WRITTEN)
    number_of = {entry.id: number for number, entry in enumerate(entries)}
    own = [(number, Counter(terms(text))) for number, entry in enumerate(entries) for text in own_texts(entry)]
    causes = [(number, Counter(terms(text))) for number, entry in enumerate(entries) for text in cause_texts(entry)]
    asked = [(row, Counter(terms(row["text"]))) for row in written if row["slug"] in number_of]
    counts = [count for _, count in (*own, *causes, *asked)]
    frequency = Counter(term for count in counts for term in count)
    idf = {term: math.log(len(counts) / n) for term, n in sorted(frequency.items()) if n >= _LEAST_TEXTS}

    questions, by_entry = [], [Counter() for _ in entries]
    for number, count in own:
        weights = text_weights(count, idf)
        by_entry[number].update(weights)
        questions.append(Question(weights, number, -1, weights))
    entry_of_cause = [number for number, _ in causes]

    def question(slug, cause, weights):
        number = number_of[slug]
        is_known = 0 < cause <= entry_of_cause.count(number)
        return Question(weights, number, entry_of_cause.index(number) + cause - 1 if is_known else -1, {})

    questions += [question(row["slug"], row["cause"], text_weights(count, idf)) for row, count in asked]
    for label, query in posts:
        if label["slug"] in number_of:
            weights = weightiest(text_weights(query.weights, idf))
            questions.append(question(label["slug"], label.get("causes", [0])[0], weights))
    by_cause = [text_weights(count, idf) for _, count in causes]
    return Lesson([question for question in questions if question.weights], by_entry, by_cause, entry_of_cause, idf)


def read_posts():
    """Return the posts to learn from: the label of each, and its query as a look-up makes it."""
    index = open_index(wait=True)
    return [(label, make_query(index, best_reading(index, label["text"])[0])) for label in read_queries(FIT)]


def learn(lesson) -> dict[str, list]:
    """Return the idf and the vector of each term, as `kb.index.embeddings` reads them."""
    import torch
    from torch.nn.functional import cross_entropy, embedding_bag, normalize

    torch.set_num_threads(1)
    torch.manual_seed(0)
    chance = random.Random(0)
    column = {term: number for number, term in enumerate(lesson.idf)}
    vectors = torch.randn(len(column), DIMENSIONS, requires_grad=True)
    optimizer = torch.optim.Adam([vectors], lr=_LEARNING_RATE)

    def bag(texts):
        columns = [column[term] for weights in texts for term in weights]
        starts = [0]
        for weights in texts:
            starts.append(starts[-1] + len(weights))
        values = torch.tensor([weight for weights in texts for weight in weights.values()])
        columns, starts = (torch.tensor(numbers, dtype=torch.long) for numbers in (columns, starts[:-1]))
        return columns, starts, values

    def sums(columns, starts, values):
        return embedding_bag(columns, vectors, starts, per_sample_weights=values, mode="sum")

    all_entries, all_causes = bag(lesson.entries), bag(lesson.causes)
    entry_of = torch.tensor(lesson.entry_of_cause)

    def entry_loss(batch, query):
        right = torch.tensor([question.entry for question in batch])
        entries = sums(*all_entries)
        rest = normalize(entries[right] - sums(*bag([question.itself for question in batch])), dim=1)
        cosines = (query @ normalize(entries, dim=1).T).scatter(1, right[:, None], (query * rest).sum(1, keepdim=True))
        return cross_entropy(_SHARPNESS * cosines, right)

    def cause_loss(batch, query):
        known = [number for number, question in enumerate(batch) if question.cause >= 0]
        if not known:
            return 0.0
        right = torch.tensor([batch[number].cause for number in known])
        cosines = query[known] @ normalize(sums(*all_causes), dim=1).T
        is_other_entry = entry_of[None, :] != entry_of[right][:, None]
        return cross_entropy((_SHARPNESS * cosines).masked_fill(is_other_entry, -math.inf), right)

    questions = list(lesson.questions)
    for epoch in range(_EPOCHS):
        chance.shuffle(questions)
        total = 0.0
        for at in range(0, len(questions), _BATCH):
            batch = questions[at : at + _BATCH]
            query = normalize(sums(*bag([_without_some(question.weights, chance) for question in batch])), dim=1)
            loss = entry_loss(batch, query) + cause_loss(batch, query)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        print(f"epoch {epoch + 1}: loss {total / len(questions):.4f}", flush=True)
    vectors = vectors.detach()
    numbers = (vectors / (_RANGE * vectors.std()) * 127).round().clamp(-127, 127).int().tolist()
    return {
        term: [round(idf, 4), write_vector(row)] for (term, idf), row in zip(lesson.idf.items(), numbers, strict=True)
    }


def index_without_posts(index) -> Index:
    """Return the index with vectors that are learnt without posts: weights are fitted on posts that the vectors have not seen."""
    rows = learn(make_lesson())
    store = WriteBuffer(("term_embeddings", "entry_embeddings", "cause_embeddings"))
    for term, row in rows.items():
        store.put("term_embeddings", term, row)
    for entry in load():
        of_entry, of_causes = entry_rows(entry, rows.get)
        store.put("entry_embeddings", entry.id, of_entry)
        store.put("cause_embeddings", entry.id, of_causes)
    unseen = Index(index.folder)
    unseen.embeddings = Embeddings(store)
    return unseen


def _without_some(weights, chance):
    """Return the weights of a question without some of its terms, but never without all."""
    return {term: weight for term, weight in weights.items() if chance.random() >= _DROPPED} or weights


def main(_argv):
    lesson = make_lesson(read_posts())
    print(f"{len(lesson.questions)} questions, {len(lesson.idf)} terms")
    lines = [f"{json.dumps(term, ensure_ascii=False)}: {json.dumps(row)}" for term, row in learn(lesson).items()]
    Path(EMBEDDINGS_FILE).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{EMBEDDINGS_FILE}: written")
