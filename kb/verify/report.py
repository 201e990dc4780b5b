"""A verification for people (a table, the faults with what was printed), for JUnit readers, and as annotations of a pull request."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import sandbox
from kb.corpus.diagnostic import display_path, github_annotation
from kb.corpus.entry import Runnable
from kb.corpus.loader import Corpus
from kb.lint.static_checks.review_notes import review_notes
from kb.verify.results import Run, Verdict

__all__ = ["failure_lines", "fault_annotations", "junit", "review_annotations", "table_lines"]

_TAIL = 12
"""Lines of each stream that a failure shows."""
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, even escaped: https://www.w3.org/TR/xml/#charsets."""


def table_lines(run: Run, corpus: Corpus) -> Iterator[str]:
    """Yield a row per topic: how many cases and checks passed, failed and were not run here; then the sums, the reasons and the names."""
    counts: dict[str, Counter[str]] = {}
    for verdict in run.verdicts:
        counts.setdefault(corpus.entries[verdict.subject.entry].topic, Counter())[verdict.outcome] += 1
    heads = ("passed", "failed", "not run here")
    yield f"{'topic':<16}" + "".join(f"{head:>14}" for head in heads)
    for topic, row in sorted(counts.items()):
        yield f"{topic:<16}" + "".join(f"{row[head]:>14}" for head in heads)
    total = sum(counts.values(), Counter())
    yield f"{'all':<16}" + "".join(f"{total[head]:>14}" for head in heads)
    reasons = Counter(verdict.reason for verdict in run.verdicts if verdict.reason)
    if reasons:
        yield "not run here: " + ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    if again := [
        verdict.subject.id for verdict in run.verdicts if verdict.attempts > 1 and verdict.outcome == "passed"
    ]:
        yield "failed, then passed alone: " + ", ".join(again)
    if failed := [verdict.subject.id for verdict in run.verdicts if verdict.outcome == "failed"]:
        yield "failed: " + ", ".join(failed)


def failure_lines(verdict: Verdict, path: str) -> Iterator[str]:
    """Yield a line for each fault of a case or a check, then the end of what its programs printed."""
    for line, what in verdict.faults:
        yield f"{path}:{line}: {verdict.subject.id}: {_one_line(what)}"
    for role, outcome in verdict.outcomes.items():
        for stream, text in (("stderr", outcome.stderr), ("stdout", outcome.stdout)):
            lines = sandbox.printable(text).rstrip().split("\n")
            if lines != [""]:
                yield f"    {role} {stream}:" + (" …" if len(lines) > _TAIL else "")
                yield from (f"    | {line}" for line in lines[-_TAIL:])


def fault_annotations(run: Run, corpus: Corpus) -> Iterator[str]:
    """Yield a workflow command for each fault, which a code host shows at its line."""
    for verdict in run.verdicts:
        for line, what in verdict.faults:
            path = display_path(corpus.entries[verdict.subject.entry].path)
            yield github_annotation("error", path, line, verdict.subject.id, what)


def review_annotations(subjects: Iterable[Runnable], corpus: Corpus) -> Iterator[str]:
    """Yield a workflow command for each line that a reviewer has to read, because no check of programs can judge it."""
    for subject in subjects:
        for role, block in subject.blocks.items():
            for line, what in review_notes(block.source):
                text = f"Read this line: the {role} {what}."
                path = display_path(corpus.entries[subject.entry].path)
                yield github_annotation("notice", path, block.line + line - 1, subject.id, text)


def _one_line(text: str) -> str:
    return " ".join(sandbox.printable(text).split("\n"))


def junit(run: Run, path: Path) -> None:
    """Write the run as a JUnit file: a test case for each case and check of an entry, skipped where it was not run here."""
    suite = ET.Element("testsuite", name="kb verify", tests=str(len(run.verdicts)))
    suite.set("failures", str(sum(verdict.outcome == "failed" for verdict in run.verdicts)))
    suite.set("skipped", str(sum(verdict.outcome == "not run here" for verdict in run.verdicts)))
    for verdict in run.verdicts:
        names = {
            "classname": _xml(verdict.subject.entry),
            "name": _xml(verdict.subject.id),
            "time": f"{verdict.seconds:.3f}",
        }
        case = ET.SubElement(suite, "testcase", names)
        if verdict.outcome == "failed":
            failure = ET.SubElement(case, "failure", message=_xml(verdict.faults[0][1]))
            failure.text = _xml("\n".join(failure_lines(verdict, verdict.subject.entry)))
        elif verdict.reason:
            ET.SubElement(case, "skipped", message=_xml(verdict.reason))
    ET.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _xml(text: str) -> str:
    """Return the text with a replacement character for each character that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", sandbox.printable(text))
