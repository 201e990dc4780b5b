"""Look-ups at 225, 10,000 and 50,000 entries, warm, beside SQLite FTS5 and tantivy on the same corpus.

`python -m bench scale [--sizes 225,10000,50000]`. A generator makes the entries: it recombines the titles, aliases, messages and prose of those that
ship and gives each words of its own, so that common words are as common as they are among real entries.
"""

import argparse
import random
import time

from bench.engines import kb_itself, sqlite_fts5, tantivy_bm25
from kb.corpus.entry import Bilingual, Block, Case, ChangeItem, Entry, Guidance, Message
from kb.corpus.loader import load
from kb.text.languages import LANGUAGES

SIZES = (225, 10_000, 50_000)
_CASE = "only"
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split()


def _guidance(first, second, lang, word):
    """Return the reason of one entry with the first change of another, and a word of its own."""
    change = f"{second.guidance[lang].items[0].change[:200]} {word}"
    item = ChangeItem(word, change, (_CASE,), (), 1)
    return Guidance((item,), "", first.guidance[lang].why[:200].partition("\n")[0])


def generated(real, size):
    """Return `size` entries: the real ones, as many as fit, and others made from them."""
    chooser = random.Random(size)
    entries = list(real)[:size]
    while len(entries) < size:
        number = len(entries)
        own = ["".join(chooser.choice(_SYLLABLES) for _ in range(4)) for _ in range(4)]
        first, second, third = (chooser.choice(real) for _ in range(3))
        program = Block(f"import torch\n\n{own[0]} = torch.ones({number % 7 + 1})\n", 1)
        entries.append(
            Entry(
                id=f"made-{number}-{own[0]}",
                topic=first.topic,
                title=Bilingual(f"{first.title.en} {own[0]}", f"{first.title.zh} {own[0]}"),
                kind="error",
                messages=tuple(
                    Message(f"RuntimeError: {' '.join(own[:2])} {message.text.partition(': ')[2]}")
                    for message in first.messages[:2]
                ),
                aliases={lang: (*second.aliases[lang][:2], f"{third.aliases[lang][0]} {own[2]}") for lang in LANGUAGES},
                answer=third.answer,
                guidance={lang: _guidance(second, third, lang, own[3]) for lang in LANGUAGES},
                cases=(Case(f"made-{number}-{own[0]}", _CASE, repro=program, fix=program),),
                apis=first.apis[:2],
                tags=first.tags[:3],
                sources=first.sources[:1],
            )
        )
    return entries


EXACT = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)"
TRACEBACK = f"""\
Traceback (most recent call last):
  File "/home/someone/train.py", line 42, in <module>
    main(args)
  File "/home/someone/train.py", line 17, in main
    out = model(batch)
  File "/env/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
{EXACT}"""
QUESTION = "gpu memory keeps growing during validation although I delete the outputs after every batch"
CHINESE = "验证的时候显存一直涨，最后爆显存了，训练的时候没有问题"
ASKED = {"message": EXACT, "traceback": TRACEBACK, "question": QUESTION, "Chinese question": CHINESE}


def median_us(search, text, seconds=1.0):
    """Return the median time of a warm look-up in microseconds, over as many as fit into `seconds`, 15 at least."""
    search(text)
    times = []
    until = time.perf_counter() + seconds
    while len(times) < 15 or (time.perf_counter() < until and len(times) < 2000):
        start = time.perf_counter()
        search(text)
        times.append(time.perf_counter() - start)
    return 1e6 * sorted(times)[len(times) // 2]


def main(argv):
    parser = argparse.ArgumentParser(prog="python -m bench scale", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--engines", default="kb,SQLite FTS5,tantivy")
    arguments = parser.parse_args(argv)
    engines = {"kb": kb_itself, "SQLite FTS5": sqlite_fts5, "tantivy": tantivy_bm25}
    real = list(load())
    print("Median microseconds of a warm look-up; every engine returns five entries.\n")
    print("| entries | engine | " + " | ".join(ASKED) + " | build s |\n|---:|---|" + "---:|" * (len(ASKED) + 1))
    for size in map(int, arguments.sizes.split(",")):
        entries = generated(real, size)
        for name in arguments.engines.split(","):
            start = time.perf_counter()
            search = engines[name](entries, 5)
            built = time.perf_counter() - start
            times = [f"{median_us(search, text):.0f}" for text in ASKED.values()]
            print(f"| {size:,} | {name} | {' | '.join(times)} | {built:.1f} |", flush=True)
