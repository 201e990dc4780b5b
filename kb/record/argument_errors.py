"""Answer a TypeError about arguments: a keyword that came or went, a parameter that became required, positional arguments that are keyword-only now."""

from __future__ import annotations

import re

from kb.record.judgement import candidate_records, judge, public_depth, records_offering
from kb.record.name_answer import Facts, NameAnswer
from kb.record.packages import package_of_module
from kb.record.parameters import parse_signature
from kb.record.query import PackageRecord, Resolved, open_record, outermost_module, split_name
from kb.startup.lazy_regex import lazy_pattern
from kb.text.name_questions import NameQuestion

__all__ = ["explain_arguments"]

_MAX_CANDIDATES = 12
_MAX_LINE = 400
_DOTTED = lazy_pattern(r"['\"]([a-z_]\w{0,60}(?:\.\w{1,60}){1,8})['\"]")
_CALL = lazy_pattern(r"([A-Za-z_][\w.]{0,120})\s{0,3}\(")


def explain_arguments(question: NameQuestion, facts: Facts) -> NameAnswer | None:
    """Return what the record says of the argument, or None where it has no such callable or never had the parameter.

    A callable of a package that the paste shows counts first. Of the others, one that exactly one package offers at its top or one level below.
    """
    lines = [line[:_MAX_LINE] for line in facts.code]
    written = next((calls for line in lines if (calls := _calls_with(question.name, line))), [])
    for owner in _callables(question, lines, written):
        is_guess = question.kind != "keyword" and not facts.packages and "." not in owner
        for record in candidate_records(facts, owner):
            if (answer := _about(record, owner, question, facts)) and not (is_guess and _is_deep(answer)):
                return answer
        if (
            (question.owner or owner in written)
            and not facts.packages
            and (answer := _from_any_package(owner, question, facts))
        ):
            return answer
    return None


def _is_deep(answer: NameAnswer) -> bool:
    """Return whether a function stands so deep in a package that the reader's own of that name is likelier."""
    return answer.name.count(".") > 1 and answer.name.rpartition(".")[2].islower()


def _from_any_package(owner: str, question: NameQuestion, facts: Facts) -> NameAnswer | None:
    """Return the answer for what one package offers; for a keyword also where several do and the same happened in all, from the longest history."""
    is_telling = "." in owner or question.kind == "keyword" or owner[:1].isupper()
    records = records_offering(owner.partition(".")[0], deepest=1 if is_telling else 0)
    if len(records) > 1 and question.kind != "keyword":
        return None
    answers = [answer for record in records if (answer := _about(record, owner, question, facts)) is not None]
    if len({answer.verdict for answer in answers}) != 1:
        return None
    return max(answers, key=lambda answer: sum(_releases(answer)))


def _releases(answer: NameAnswer) -> list[int]:
    """Return how many releases of the package each range of the answer has."""
    record = open_record(answer.package)
    lines = record.lines if record else ()
    return [lines.index(part.until) - lines.index(part.since) + 1 for part in answer.ranges]


def _about(record: PackageRecord, owner: str, question: NameQuestion, facts: Facts) -> NameAnswer | None:
    """Return the answer for what the package calls `owner`, if all that it may be have the same."""
    targets = _outermost(record, _targets(record, owner))
    answers = [answer for target in targets if (answer := _judge(record, target, owner, question, facts)) is not None]
    verdicts = {answer.verdict for answer in answers}
    return min(answers, key=lambda answer: answer.name) if len(verdicts) == 1 else None


def _outermost(record: PackageRecord, targets: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return those of the targets that the package offers least deep: `torch.nn.Softmax` rather than its quantized namesake."""
    if len(targets) == 1:
        return targets
    depths = [public_depth(record, module, name) for module, name, _ in targets]
    return [target for target, depth in zip(targets, depths, strict=True) if depth == min(depths)]


def _callables(question: NameQuestion, lines: list[str], written: list[str]) -> list[str]:
    """Return the names that the callable may have: as the message says, else as the innermost line of code calls it, or as any line quotes it.

    `written` is what the innermost line calls that passes the keyword.
    """
    if question.owner:
        named = _as_called(question.owner, lines)
        return [named, *(written if len(written) == 1 and package_of_module(written[0]) else ())]
    innermost = next((line for line in lines if _CALL.search(line)), "")
    calls: list[str] = _CALL.findall(innermost)
    names = calls if question.name in innermost or len(calls) == 1 or "**" in innermost else []
    names += written
    names += [name for line in lines for name in _DOTTED.findall(line) if package_of_module(name)]
    return list(dict.fromkeys(names))


def _calls_with(keyword: str, line: str) -> list[str]:
    """Return what a line calls, if it passes the keyword."""
    return _CALL.findall(line) if keyword and re.search(rf"\b{re.escape(keyword)}\s?=(?!=)", line) else []


def _as_called(owner: str, lines: list[str]) -> str:
    """Return the callable with the module that a line of code names, as in `torch.zeros(`; many modules have a function of the same bare name."""
    if "." in owner:
        return owner
    calls = [call for line in lines for call in _CALL.findall(line) if call.endswith(f".{owner}")]
    return next((call for call in calls if package_of_module(call)), owner)


def _targets(record: PackageRecord, owner: str) -> list[tuple[str, str, str]]:
    """Return (module, class or function, method) for everything in the package that a name may mean."""
    if package_of_module(owner) is record.package:
        split = split_name(record, owner)
        name, _, method = split[1].partition(".") if split else ("", "", "")
        return [(split[0].name, name, method)] if split and name else []
    parts = owner.split(".")
    targets = []
    for depth in (1, 2):
        if len(parts) >= depth:
            if depth == 1 and len(parts) > 1 and (package_of_module(owner) or parts[-2][:1].isupper()):
                continue  # the name is a method, so a function of that name is another
            name, method = parts[-depth], ".".join(parts[len(parts) - depth + 1 :])
            targets += [(module, name, method) for module in record.definitions(name)[:_MAX_CANDIDATES]]
    return targets


def _judge(
    record: PackageRecord, target: tuple[str, str, str], called: str, question: NameQuestion, facts: Facts
) -> NameAnswer | None:
    """Return what the record says of the argument. A bare name that the package itself has means that one, whose signature the record may not know."""
    module, name, method = target
    resolved = _with_signature(record, module, name, method)
    if resolved is None or (not question.owner and not _is_class(record, module, name, method)):
        return None
    if "." not in called and _is_another(record, module, name):
        return None
    qualified = ".".join(filter(None, (module, name, method)))
    row = resolved.row
    if question.kind == "keyword":
        mask = record.parameters(row).get(question.name, 0)
        if not mask:
            return None
        answer = judge(record, "keyword", qualified, mask, row, facts, question.name)
    elif question.kind == "required":
        optional = _releases_without_requirement(row.signatures, question.name) & row.mask
        answer = judge(record, "required", qualified, optional, row, facts, question.name) if optional else None
    else:
        enough = _releases_taking(row.signatures, question.given - (1 if method or row.kind == "c" else 0))
        answer = judge(record, "count", qualified, enough, row, facts, str(question.given)) if enough else None
    if answer is None or answer.verdict not in ("removed", "newer"):
        return None
    written = outermost_module(record, module, name, 1 << (len(record.versions) - 1))
    return answer._replace(name=".".join(filter(None, (written, name, method))))


def _is_another(record: PackageRecord, module: str, name: str) -> bool:
    """Return whether the package itself has the name for something else than the module has."""
    meant = record.resolve(module, name)
    others = (record.resolve(top, name) for top in record.package.modules)
    return any(other[:2] != meant[:2] for other in others if meant and other)


def _is_class(record: PackageRecord, module: str, name: str, method: str) -> bool:
    """Return whether the target is a class: a message that names no callable is about `__init__`."""
    resolved = None if method else record.resolve(module, name)
    return resolved is not None and resolved.row.kind == "c"


def _with_signature(record: PackageRecord, module: str, name: str, method: str) -> Resolved | None:
    """Return the definition whose signature counts: a class without `__init__` of its own has that of its first base."""
    if method:
        mask, row, _ = record.member(module, name, method)
        return Resolved(module, f"{name}.{method}", row) if mask and row is not None and row.signatures else None
    for _ in range(6):
        resolved = record.resolve(module, name)
        if resolved is None or resolved.row.signatures or resolved.row.kind != "c" or not resolved.row.target:
            return resolved if resolved is not None and resolved.row.signatures else None
        module, name = record.base(resolved.module, resolved.row.target.partition(",")[0])
    return None


def _releases_without_requirement(signatures: dict[str, int], parameter: str) -> int:
    """Return the releases in which a call without the parameter is right."""
    mask = 0
    for text, releases in signatures.items():
        if any(parameter not in parse_signature(overload).required for overload in text.split("|")):
            mask |= releases
    return mask


def _releases_taking(signatures: dict[str, int], count: int) -> int:
    """Return the releases that take so many positional arguments."""
    mask = 0
    for text, releases in signatures.items():
        limit = parse_signature(text).positional
        if limit is None or limit >= count:
            mask |= releases
    return mask
