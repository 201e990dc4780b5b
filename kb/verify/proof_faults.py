"""The faults that static checks find in a case or a check, less those that the entry's folder exempts."""

from __future__ import annotations

from kb.corpus.diagnostic import Diagnostic, display_path
from kb.corpus.entry import Entry, Runnable
from kb.lint.exemptions import apply_exemptions
from kb.lint.rules.proofs import PROOF_RULES, proof_findings
from kb.verify.results import Fault

__all__ = ["proof_faults"]


def proof_faults(entry: Entry, subject: Runnable) -> list[Fault]:
    """Return what keeps a case or a check from proving anything however it runs, with the line of the entry's file and the rule's number."""
    path = display_path(entry.path)
    findings = [Diagnostic(path, line, rule, what) for line, rule, what in proof_findings(entry, subject)]
    if not findings:
        return []
    remaining = apply_exemptions(findings, [entry.path.parent.parent], lambda _slug: False)
    return [(fault.line, f"{fault.rule} {fault.what}") for fault in remaining if fault.rule in PROOF_RULES]
