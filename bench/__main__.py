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
    "web": "requests per second beside an empty route",
}


def main(argv: list[str]) -> int:
    """Run the benchmarks; return 1 when one of them says that something went wrong."""
    if argv and argv[0] not in PARTS:
        listing = "\n".join(f"  {name}: {what}" for name, what in PARTS.items())
        print(f"there is no benchmark {argv[0]!r}; there are\n{listing}", file=sys.stderr)
        return 2
    status = 0
    for name in argv[:1] or PARTS:
        print(f"\n## {name}: {PARTS[name]}\n", flush=True)
        status |= import_module(f"bench.{name}").main(argv[1:]) or 0
    return status


sys.exit(main(sys.argv[1:]))
