"""Runs the hostile suite on every backend that works here and writes docs/attacks.md: python tests/hostile/record.py."""

import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))

import suite  # noqa: E402
from forgery_suite import FORGERIES, ForgeryVerdict, run_forgeries  # noqa: E402

from sandbox import Options  # noqa: E402
from sandbox.backends import BACKENDS  # noqa: E402

DOC = HERE.parent.parent / "docs" / "attacks.md"
HEAD = """# The attacks

Each row is one small program of [the hostile suite](../tests/hostile), run on each backend. *refused or harmless*: each thing that it tries fails or
changes nothing, and it comes to its end. *not finished*: it exited, but never counts as passed. After each attack a canary runs in the same worker and
must find nothing changed; a worker that shows traces is replaced.

Both tables are written by `python tests/hostile/record.py` from such a run, with {versions}.

"""
FORGED = """
# The forgeries

Each row is one entry whose programs only look as if they proved something, verified with `--isolation entry` on the same backends. *Rules* are those of
`kb check` and `kb verify` that refuse it before anything runs; *judge* is what the judge says of how its programs ran, without the rules. Those that
nothing refuses are listed in [security.md](security.md#what-a-passing-verify-does-not-prove) as well.

| forgery | what it does | rules | judge |
|---|---|---|---|
"""
SHOWN = 110


def main() -> int:
    """Write both tables; return 1 when an attack was not held or a forgery came out otherwise than expected."""
    reports, forgeries, versions = {}, {}, []
    for backend, (name, runtime) in suite.BACKENDS.items():
        status = BACKENDS[name](Options(runtime=runtime)).status()
        if not status.works:
            continue
        versions.append(re.sub(r", (?:kb-sandbox|memory).*", "", f"{name} ({status.detail}"))
        reports[backend] = suite.run_suite(backend)
        with tempfile.TemporaryDirectory() as folder:
            forgeries[backend] = run_forgeries(Path(folder), name, runtime)
        not_held = sum(bool(verdict.faults) for verdict in reports[backend][0])
        sys.stderr.write(f"{backend}: {not_held} attacks not held\n")
    text = HEAD.format(versions=", ".join(version + ")" for version in versions))
    DOC.write_text(text + _attacks(reports) + FORGED + _forged(forgeries), encoding="utf-8")
    failed = [
        fault for verdicts, faults in reports.values() for fault in (*faults, *(f for v in verdicts for f in v.faults))
    ]
    failed += [
        f"{backend}: {forgery.name} {verdicts[forgery.name].refused_by}"
        for backend, verdicts in forgeries.items()
        for forgery in FORGERIES
        if verdicts[forgery.name].passed != bool(forgery.passes)
    ]
    sys.stderr.write("".join(f"{fault}\n" for fault in failed))
    return bool(failed)


def _attacks(reports: dict[str, tuple[list[suite.Verdict], list[str]]]) -> str:
    rows = ["| attack | what it tries | " + " | ".join(reports) + " |", "|---|---|" + "---|" * len(reports)]
    for number, attack in enumerate(suite.ATTACKS):
        cells = [_cell(verdicts[number].cell) for verdicts, _ in reports.values()]
        rows.append(f"| `{attack.name}` | {attack.tries} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _forged(forgeries: dict[str, dict[str, ForgeryVerdict]]) -> str:
    rows = []
    for forgery in FORGERIES:
        by_backend = {backend: verdicts[forgery.name] for backend, verdicts in forgeries.items()}
        rules = sorted({rule for verdict in by_backend.values() for rule in verdict.rules})
        judged = {backend: _judged(verdict) for backend, verdict in by_backend.items()}
        by_all = len(set(judged.values())) == 1
        judge = judged.popitem()[1] if by_all else "; ".join(f"{backend}: {what}" for backend, what in judged.items())
        if forgery.passes:
            judge = f"passes, because {forgery.passes}"
        rows.append(f"| `{forgery.name}` | {forgery.claims} | {', '.join(rules)} | {judge} |")
    return "\n".join(rows) + "\n"


def _judged(verdict: ForgeryVerdict) -> str:
    what = verdict.judged[0] if verdict.judged else ""
    return _cell(what if len(what) <= SHOWN else what[:SHOWN].rpartition(" ")[0] + " …")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main())
