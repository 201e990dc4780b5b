"""Run the benchmarks: `python -m bench` all of them, `python -m bench NAME [ARGUMENTS]` one."""

from __future__ import annotations

import sys
from importlib import import_module

PARTS = {
    "lookup": "accuracy and time beside other engines",
    "unknown": "errors that no entry answers",
    "scale": "look-ups at 225, 10,000 and 50,000 entries",
    "reindex": "re-indexing one changed entry beside a full build",
    "start": "a cold kb lookup beside a bare interpreter",
    "verify": "proving the corpus",
    "fuzz": "hostile files, names and pastes for a minute; --seconds N for longer",
    "web": "how long readers of the page and users of the API wait",
    "flood": "the web under hostile connections",
    "cluster": "batches on workers: overhead, one to four workers, a simulated hundred",
}
ON_REQUEST = {
    "embed": "the vectors of terms, by which texts without a common word are compared; needs the extra fit, and writes them",
    "sentences": "how a model of sentences tells entries apart; needs the extras fit and semantic, and writes it",
    "fit": "the numbers by which answers are ranked and judged, from labelled posts; needs the extra fit, and writes them",
    "record-truth": "claims of the record beside the packages themselves; installs them",
}
"""What needs a network or an extra: run only by name."""


def main(argv: list[str]) -> int:
    """Run the benchmarks; return 1 when one of them says that something went wrong."""
    every = PARTS | ON_REQUEST
    if argv and argv[0] not in every:
        listing = "\n".join(f"  {name}: {what}" for name, what in every.items())
        print(f"there is no benchmark {argv[0]!r}; there are\n{listing}", file=sys.stderr)
        return 2
    status = 0
    for name in argv[:1] or PARTS:
        print(f"\n## {name}: {every[name]}\n", flush=True)
        status |= import_module(f"bench.{name.replace('-', '_')}").main(argv[1:]) or 0
    return status


sys.exit(main(sys.argv[1:]))
