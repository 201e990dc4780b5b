"""A verification run for people (a table, a line per failure with what was printed), for JUnit readers, and as annotations of a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import sandbox
from kb.corpus import Corpus, shown
from kb.verify import Run, Verdict

__all__ = ["failure_lines", "junit", "table_lines", "workflow_commands"]

_TAIL = 12


def table_lines(run: Run, corpus: Corpus) -> Iterator[str]:
    """Yield a row per topic: how many cases passed, failed and were not run here; then the sums."""
    counts: dict[str, Counter[str]] = {}
    for verdict in run.verdicts:
        counts.setdefault(corpus.entries[verdict.case.entry].topic, Counter())[verdict.outcome] += 1
    heads = ("passed", "failed", "not run here")
    yield f"{'topic':<16}" + "".join(f"{head:>14}" for head in heads)
    for topic, row in sorted(counts.items()):
        yield f"{topic:<16}" + "".join(f"{row[head]:>14}" for head in heads)
    total = sum(counts.values(), Counter())
    yield f"{'all':<16}" + "".join(f"{total[head]:>14}" for head in heads)
    reasons = Counter(verdict.reason for verdict in run.verdicts if verdict.reason)
    if reasons:
        yield "not run here: " + ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))


def failure_lines(verdict: Verdict, path: str) -> Iterator[str]:
    """Yield a line for each fault of a case, then the end of what its programs printed."""
    for line, what in verdict.faults:
        yield f"{path}:{line}: {verdict.case.id}: {sandbox.printable(what)}"
    for role, outcome in (("repro", verdict.repro), ("fix", verdict.fix)):
        if outcome is None:
            continue
        for stream, text in (("stderr", outcome.stderr), ("stdout", outcome.stdout)):
            lines = sandbox.printable(text).rstrip().split("\n")
            if lines != [""]:
                yield f"    {role} {stream}:" + (" …" if len(lines) > _TAIL else "")
                yield from (f"    | {line}" for line in lines[-_TAIL:])


def workflow_commands(run: Run, corpus: Corpus) -> Iterator[str]:
    """Yield one workflow command per fault, which a code host shows at the line."""
    for verdict in run.verdicts:
        for line, what in verdict.faults:
            text = sandbox.printable(what).replace("%", "%25").replace("\r", "").replace("\n", "%0A")
            yield f"::error file={shown(corpus.entries[verdict.case.entry].path)},line={line},title={verdict.case.id}::{text}"


def junit(run: Run, path: Path) -> None:
    """Write the run as a JUnit file: a test case per case of an entry, skipped where it was not run here."""
    suite = ET.Element("testsuite", name="kb verify", tests=str(len(run.verdicts)))
    suite.set("failures", str(sum(verdict.outcome == "failed" for verdict in run.verdicts)))
    suite.set("skipped", str(sum(verdict.outcome == "not run here" for verdict in run.verdicts)))
    for verdict in run.verdicts:
        case = ET.SubElement(
            suite, "testcase", classname=verdict.case.entry, name=verdict.case.id, time=f"{verdict.seconds:.3f}"
        )
        if verdict.outcome == "failed":
            ET.SubElement(case, "failure", message=_xml(verdict.faults[0][1])).text = _xml(
                "\n".join(failure_lines(verdict, verdict.case.entry))
            )
        elif verdict.reason:
            ET.SubElement(case, "skipped", message=verdict.reason)
    ET.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _xml(text: str) -> str:
    """Text without the control characters that XML cannot hold."""
    return "".join(char for char in sandbox.printable(text) if char >= " " or char in "\n\t")
