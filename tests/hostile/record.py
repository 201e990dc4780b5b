"""Runs the hostile suite on every backend that works here and writes docs/attacks.md: python tests/hostile/record.py."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))

import suite  # noqa: E402

from sandbox import Options  # noqa: E402
from sandbox.backends import BACKENDS  # noqa: E402

DOC = HERE.parent.parent / "docs" / "attacks.md"
HEAD = """# The attacks

Each row is one small program of [the hostile suite](../tests/hostile), run on each backend. *refused or harmless*: it
tried all it wanted to, nothing worked, and it came to its end. *not finished*: it exited, but never counts as passed. After
each attack a canary runs in the same worker and must find nothing changed; a worker that shows traces is replaced.

This table is written by `python tests/hostile/record.py` from such a run, with {versions}.

"""


def main() -> int:
    """Writes the table; returns 1 when an attack was not held."""
    reports, versions = {}, []
    for backend, (name, runtime) in suite.BACKENDS.items():
        status = BACKENDS[name](Options(runtime=runtime)).status()
        if status.works:
            versions.append(re.sub(r", (?:kb-sandbox|memory).*", "", f"{name} ({status.detail}"))
            reports[backend] = suite.run_suite(backend)
            sys.stderr.write(f"{backend}: {sum(bool(verdict.faults) for verdict in reports[backend][0])} not held\n")
    rows = ["| attack | what it tries | " + " | ".join(reports) + " |", "|---|---|" + "---|" * len(reports)]
    for number, attack in enumerate(suite.ATTACKS):
        cells = [verdicts[number].cell.replace("|", "\\|").replace("\n", " ") for verdicts, _ in reports.values()]
        rows.append(f"| `{attack.name}` | {attack.tries} | {' | '.join(cells)} |")
    text = HEAD.format(versions=", ".join(version + ")" for version in versions)) + "\n".join(rows) + "\n"
    DOC.write_text(text, encoding="utf-8")
    failed = [
        fault for verdicts, faults in reports.values() for fault in (*faults, *(f for v in verdicts for f in v.faults))
    ]
    sys.stderr.write("".join(f"{fault}\n" for fault in failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
