"""Verifies all forgeries on one backend; used by the tests and by record.py, which writes docs/attacks.md."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import forgeries_fix
import forgeries_repro
from forgery import Forgery, error, silent, warning

from kb.corpus.loader import load
from kb.index.manager import open_index
from kb.lint.rules.proofs import PROOF_RULES
from kb.verify.results import Verdict
from kb.verify.verifier import RunOptions, select, verify

FORGERIES: tuple[Forgery, ...] = (*forgeries_fix.FORGERIES, *forgeries_repro.FORGERIES)
HONEST: tuple[Forgery, ...] = (
    error("honest-error", "is honest"),
    silent("honest-silent", "is honest"),
    warning("honest-warning", "is honest"),
)
FRONT = """---
title: {{en: A forged entry about {slug}, zh: 伪造的条目 {slug}}}
kind: {kind}
messages:
  - {message}
answer: {{en: Do nothing., zh: 什么也不用做。}}
apis: [torch.add]
tags: [forged]
aliases: {{en: [forged {slug}], zh: [伪造 {slug}]}}
sources: [https://docs.pytorch.org/docs/stable/notes/broadcasting.html]
---

## English

### What to change

{english}

### Why it happens

It is forged.

## 中文

### 怎么改

{chinese}

### 原因

这是伪造的。

## Run it
"""


@dataclass(frozen=True)
class ForgeryVerdict:
    """How one forgery came out: the rules that refuse it, and what the judge found without them."""

    forgery: Forgery
    passed: bool
    rules: tuple[str, ...]
    judged: tuple[str, ...]

    @property
    def refused_by(self) -> str:
        """What refuses it, in a few words."""
        return "; ".join([*self.rules, *self.judged]) or "nothing"


def run_forgeries(folder: Path, backend: str, runtime: str | None) -> dict[str, ForgeryVerdict]:
    """Write the forgeries as cases of a few entries into a folder, verify them, and return the verdicts by name."""
    by_message: dict[tuple[str, str], list[Forgery]] = defaultdict(list)
    for forgery in (*FORGERIES, *HONEST):
        by_message[forgery.kind, forgery.message].append(forgery)
    for number, ((kind, message), forgeries) in enumerate(by_message.items()):
        _write(folder / "entries" / "forged" / f"forged-{number}.md", kind, message, forgeries)
    corpus = load([folder / "entries"])
    assert not corpus.faults, corpus.faults
    index = open_index([folder / "entries"], folder / "cache")
    options = RunOptions(backend=backend, runtime=runtime, jobs=os.cpu_count() or 1)
    done = verify(corpus, select(corpus), index, options=options)
    by_name = {forgery.name: forgery for forgery in (*FORGERIES, *HONEST)}
    return {verdict.subject.name: _verdict(by_name[verdict.subject.name], verdict) for verdict in done.verdicts}


def _verdict(forgery: Forgery, verdict: Verdict) -> ForgeryVerdict:
    faults = [what for _, what in verdict.faults]
    rules = sorted({what.partition(" ")[0] for what in faults} & set(PROOF_RULES))
    judged = [what.removeprefix("KB082 ") for what in faults if what.partition(" ")[0] not in PROOF_RULES]
    return ForgeryVerdict(forgery, verdict.outcome == "passed", tuple(rules), tuple(judged))


def _write(path: Path, kind: str, message: str, forgeries: list[Forgery]) -> None:
    quoted = '"' + message.replace("\\", "\\\\").replace('"', '\\"') + '"'
    links = [f"[{forgery.name}](#{forgery.name})" for forgery in forgeries]
    english = "\n".join(f"- **It is forged**: do nothing. {link}" for link in links)
    chinese = "\n".join(f"- **这是伪造的**：什么也不用做。{link}" for link in links)
    text = FRONT.format(slug=path.stem, kind=kind, message=quoted, english=english, chinese=chinese)
    for forgery in forgeries:
        text += f"\n### {forgery.name}\n"
        for role, source in (("repro", forgery.repro), ("fix", forgery.fix)):
            text += f"\n```python {role} timeout=20\n{source.rstrip()}\n```\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
