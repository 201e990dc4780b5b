"""How often an error that no entry answers is answered all the same: each entry is taken out in turn, and what its repros printed is looked up.

An answer by an entry that the one taken out calls related may still help; any other misleads.
"""

import argparse
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kb.corpus.ledger import load_ledgers
from kb.corpus.loader import entry_folders, load
from kb.index.manager import open_index
from kb.search.lookup import lookup


def outcomes(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what is pasted and what came of it, for each recorded output without its entry.

    Pasted is the whole output or its last line; it is declined, or answered by a related or by another entry.
    """
    with tempfile.TemporaryDirectory(prefix="kb-bench-") as root:
        entries, cache = Path(root, "entries"), Path(root, "cache")
        shutil.copytree(folder, entries)
        corpus, printed = load([entries]), load_ledgers([entries]).printed()
        for entry in corpus:
            outputs = [printed[case.id] for case in entry.cases if printed.get(case.id)]
            if not entry.messages or not outputs:
                continue
            text, status = entry.path.read_bytes(), entry.path.stat()
            entry.path.unlink()
            index = open_index([entries], cache=cache)
            for output in outputs:
                for pasted, what in ((output, "traceback"), (output.strip().splitlines()[-1], "last line")):
                    answer = lookup(pasted, index=index)
                    by = answer.matches[0].id if answer.answered else ""
                    yield what, "related" if by in entry.related else "another" if by else "declined"
            entry.path.write_bytes(text)
            os.utime(entry.path, ns=(status.st_atime_ns, status.st_mtime_ns))


def table(counts: Counter[tuple[str, str]]) -> str:
    """Return the result as a Markdown table."""
    lines = ["| pasted | errors | declined | answered by a related entry | by another |", "|---|---:|---:|---:|---:|"]
    for what in dict.fromkeys(what for what, _ in counts):
        total = sum(count for (pasted, _), count in counts.items() if pasted == what)
        shares = [f"{counts[what, came] / total:.2f}" for came in ("declined", "related", "another")]
        lines.append(f"| {what} | {total} | {' | '.join(shares)} |")
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench unknown", description=__doc__.splitlines()[0])
    parser.parse_args(argv)
    print(table(Counter(outcomes(entry_folders()[0]))))
