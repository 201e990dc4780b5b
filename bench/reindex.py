"""Re-indexing one entry that changed, came or went beside building the whole index, at 234, 10,000 and 50,000 entries.

`python -m bench reindex [--sizes 234,10000,50000]`. The entries are files; those beyond the ones that ship are made as for `scale`.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from bench.scale import generated
from kb.corpus.loader import load
from kb.index.manager import build_index, open_index
from kb.text.languages import LANGUAGES

SIZES = (234, 10_000, 50_000)
_ROUNDS = 5
_OPEN = "import sys; from kb.index.manager import open_index; open_index([sys.argv[1]], cache=sys.argv[2])"


def markdown(entry):
    """Return an entry that has no file as the text of one."""
    front = {
        "title": {lang: entry.title[lang] for lang in LANGUAGES},
        "kind": entry.kind if entry.messages else "silent",
        "answer": {lang: entry.answer[lang] for lang in LANGUAGES},
        "messages": [message.text for message in entry.messages],
        "apis": list(entry.apis),
        "tags": list(entry.tags),
        "aliases": {lang: list(entry.aliases[lang]) for lang in LANGUAGES},
        "sources": list(entry.sources),
    }
    en, zh = (entry.guidance[lang] for lang in LANGUAGES)
    (case,) = entry.cases
    program, link = case.repro.source, f"[{case.name}](#{case.name})"
    return (
        f"---\n{yaml.safe_dump({key: value for key, value in front.items() if value}, allow_unicode=True)}---\n\n"
        f"## English\n\n### What to change\n\n- **It is made**: {en.items[0].change} {link}\n\n### Why it happens\n\n{en.why}\n\n"
        f"## 中文\n\n### 怎么改\n\n- **造的**：{zh.items[0].change}{link}\n\n### 原因\n\n{zh.why}\n\n"
        f"## Run it\n\n### {case.name}\n\n```python repro\n{program}```\n\n```python fix\n{program}```\n"
    )


def written(entries, folder):
    """Write the entries into `folder` and return their files."""
    paths = []
    for entry in entries:
        path = folder / entry.topic / f"{entry.id}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(entry.source or markdown(entry), "utf-8")
        paths.append(path)
    return paths


def changed(path, turn):
    """Give the entry another message and another sentence."""
    text = path.read_text("utf-8").replace(
        "### Why it happens\n", f"### Why it happens\n\nIt was turn {turn} of several.\n"
    )
    path.write_text(text.replace("Error: ", f"Error: turn {turn} of it, ", 1), "utf-8")


def timed(action, *arguments, **options):
    start = time.perf_counter()
    action(*arguments, **options)
    return time.perf_counter() - start


def measured(paths, folder, cache):
    """Return the seconds of a build from nothing, and the median seconds until the index follows a change, an addition, a removal.

    The last one is that of a change seen by a new process, with its start and imports.
    """
    full = timed(build_index, [folder], cache=cache)
    size = len(open_index([folder], cache=cache))
    assert size >= 0.99 * len(paths), f"{size} of {len(paths)} entries were understood"
    aside = folder.parent / "aside.md"
    change, removal, addition, process = [], [], [], []
    for turn in range(_ROUNDS):
        path = paths[turn * len(paths) // _ROUNDS]
        changed(path, turn)
        change.append(timed(open_index, [folder], cache=cache))
        shutil.move(path, aside)
        removal.append(timed(open_index, [folder], cache=cache))
        shutil.move(aside, path)
        addition.append(timed(open_index, [folder], cache=cache))
        changed(path, turn + _ROUNDS)
        program = [sys.executable, "-c", _OPEN, str(folder), str(cache)]
        process.append(timed(subprocess.run, program, check=True))
    assert len(open_index([folder], cache=cache)) == size
    return full, *map(statistics.median, (change, addition, removal, process))


def main(argv):
    parser = argparse.ArgumentParser(prog="python -m bench reindex", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    arguments = parser.parse_args(argv)
    real = list(load())
    print(f"Seconds; of {_ROUNDS} changes the median. The ratio is that of a full build to one changed entry.\n")
    print("| entries | full build | changed | added | removed | changed, new process | ratio |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for size in map(int, arguments.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="kb-bench-") as place:
            folder = Path(place, "entries")
            full, *changes = measured(written(generated(real, size), folder), folder, Path(place, "cache"))
        figures = " | ".join(f"{seconds:.3f}" for seconds in changes)
        print(f"| {size:,} | {full:.1f} | {figures} | {full / changes[0]:,.0f} |", flush=True)
