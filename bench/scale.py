"""Look-ups at 225, 10,000 and 50,000 entries, warm, beside SQLite FTS5 and tantivy on the same corpus.

`python -m bench scale [--sizes 225,10000,50000]`. A generator makes the entries: it recombines the titles, aliases, messages and prose of those that
ship and gives each words of its own, so that common words are as common as they are among real entries.
"""

import argparse
import random
import time

from bench.engines import kb_itself, sqlite_fts5, tantivy_bm25
from kb.corpus import load
from kb.entry import LANGUAGES, Block, Case, Entry, Message, Prose, Text

SIZES = (225, 10_000, 50_000)
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split()


def generated(real, size):
    """Return `size` entries: the real ones, as many as fit, and others made from them."""
    chooser = random.Random(size)
    entries = list(real)[:size]
    while len(entries) < size:
        number = len(entries)
        own = ["".join(chooser.choice(_SYLLABLES) for _ in range(4)) for _ in range(4)]
        one, other, third = (chooser.choice(real) for _ in range(3))
        program = Block(f"import torch\n\n{own[0]} = torch.ones({number % 7 + 1})\n", 1)
        entries.append(
            Entry(
                id=f"made-{number}-{own[0]}",
                topic=one.topic,
                title=Text(f"{one.title.en} {own[0]}", f"{one.title.zh} {own[0]}"),
                kind="error",
                messages=tuple(
                    Message(f"RuntimeError: {' '.join(own[:2])} {message.text.partition(': ')[2]}")
                    for message in one.messages[:2]
                ),
                aliases={lang: (*other.aliases[lang][:2], f"{third.aliases[lang][0]} {own[2]}") for lang in LANGUAGES},
                prose={
                    lang: Prose(other.prose[lang].why[:200], f"{third.prose[lang].fix[:200]} {own[3]}")
                    for lang in LANGUAGES
                },
                cases=(Case(f"made-{number}-{own[0]}", "", program, program),),
                apis=one.apis[:2],
                tags=one.tags[:3],
                sources=one.sources[:1],
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
