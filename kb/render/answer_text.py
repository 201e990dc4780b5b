"""An answer as lines that fit a screen: the match, the answer, what released packages say, the causes with the change of the one that fits, and why.

The parts of an answer share the lines of a small screen by their weights; what is cut ends in `…`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kb.render.context_text import entry_mismatch, operand_lines
from kb.render.declining import how_it_differs, what_was_read
from kb.render.entry_text import advice, badge, case_named, change_lines
from kb.render.line_budget import Part, clip, cut, share
from kb.render.own_line import OwnLine, own_line_change
from kb.render.prose import blocks, plain, sentence
from kb.render.strings import STRINGS
from kb.render.terminal import BOLD, CYAN, DIM, GREEN, YELLOW, Style, columns, paint, visible, wrap
from kb.search.answer import Answer, Match
from kb.search.cause_choice import CauseChoice, fitting_cause
from kb.text.languages import Lang

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import EntryDocument
    from kb.inspection.crash_context import CrashContext
    from kb.inspection.mismatch import Mismatch
    from kb.search.answer import Understood

__all__ = ["answer_lines", "short_lines", "unanswered_lines"]

_PROSE = ("answer", "notes", "record", "change", "tell", "why")
"""The parts that are cut after sentences; the others are cut after lines."""


def answer_lines(
    answer: Answer,
    document: EntryDocument,
    text: str,
    limit: int,
    rows: int | None,
    style: Style,
    *,
    context: CrashContext | None = None,
    lead: str = "",
    evidence: bool = True,
) -> list[str]:
    """Return the answer, whose first match's document is given, in lines of `limit` columns: at most `rows` of them, or all where that is None.

    `text` is what was asked; it decides which cause is marked. `context` is what the program had in its hands, if it
    can be looked at. `lead` stands before the title. Without `evidence` the matched line is left out.
    """
    parts = _parts(
        answer,
        document,
        fitting_cause(answer, document, text),
        limit,
        lead,
        context=context,
        evidence=evidence,
        short_labels=rows is not None,
    )
    if rows is not None:
        parts = {name: part._replace(lines=[clip(line, limit) for line in part.lines]) for name, part in parts.items()}
    lines = {
        name: _shortened(name, part, given, limit)
        for (name, part), given in zip(parts.items(), share(list(parts.values()), rows), strict=True)
    }
    wanted = sum(len(part.lines) for part in parts.values())
    sections = [section for section in _sections(lines, document, answer, style) if section]
    is_spaced = rows is None or wanted + len(sections) - 1 <= rows
    laid_out: list[str] = []
    for section in sections:
        laid_out += ["", *section] if laid_out and is_spaced else section
    return laid_out


def short_lines(
    answer: Answer, limit: int, style: Style, *, lead: str = "", other: tuple[str, str] = ("", "")
) -> list[str]:
    """Return the answer's title and how to read it: also which `other` rank or process prints the whole answer, if one does."""
    first, (kind, name) = answer.matches[0], other
    more = STRINGS[answer.lang][kind].format(name, first.id) if kind else f"kb show {first.id}"
    return [*wrap(lead + first.title[answer.lang], limit), style(more, DIM)]


def unanswered_lines(
    answer: Answer, limit: int, style: Style, document: Callable[[str], EntryDocument | None] = lambda _slug: None
) -> list[str]:
    """Return that there is no entry or that none is sure, what the released packages say, what was read, what to try, and the nearest entries.

    `document` gives an entry by its slug. Where one of the nearest may be the answer, each has its advice below, otherwise how it differs.
    """
    words = STRINGS[answer.lang]
    is_unsure = answer.outcome == "unsure"
    lines = [style(words[answer.outcome], BOLD)]
    if record := _record(answer, limit):
        lines += ["", *paint(_bold_head(record, "record", answer.lang, style), style)]
    if answer.understood and answer.outcome == "none":
        lines += ["", *_understood(answer, answer.understood, limit, style)]
    if answer.matches:
        lines += ["", *wrap(words["maybe" if is_unsure else "near"], limit)]
    for match in answer.matches:
        lines += _title(match, answer.lang, limit)
        if entry := document(match.id):
            below = entry["answer"][answer.lang] if is_unsure else how_it_differs(answer, match, entry["messages"])
            lines += paint(wrap(plain(below), limit, "    "), style)
    if answer.understood and is_unsure:
        lines += ["", *_understood(answer, answer.understood, limit, style)]
    return lines


def _understood(answer: Answer, understood: Understood, limit: int, style: Style) -> list[str]:
    """Return what was read of the paste, and what to try next."""
    words = STRINGS[answer.lang]
    step = wrap(words["next"] + words["colon"] + plain(understood.next_step[answer.lang]), limit, "", "  ")
    return [
        *paint(wrap(plain(what_was_read(answer)), limit, "", "  "), style),
        *paint(_bold_head([*step], "next", answer.lang, style), style),
    ]


def _parts(
    answer: Answer,
    document: EntryDocument,
    choice: CauseChoice,
    limit: int,
    lead: str,
    *,
    context: CrashContext | None,
    evidence: bool,
    short_labels: bool,
) -> dict[str, Part]:
    """Return the parts of the answer in the order in which they get their least. With `short_labels` each cause that is not chosen takes one line."""
    lang, words = answer.lang, STRINGS[answer.lang]
    case = case_named(document, choice.case) if choice.case else None
    items = document["items"][lang]
    is_said = not items or choice.leads
    change = [] if is_said else list(wrap(plain(sentence(items[choice.item]["change"])), limit, "     "))
    labels = [_label(document, choice, at, lang, limit) for at in range(len(items))]
    if short_labels:
        labels = [label if at == choice.item else _one_line(label, limit) for at, label in enumerate(labels)]
    before = [line for label in labels[: choice.item] for line in label]
    after = [line for label in labels[choice.item + 1 :] for line in label]
    chosen = [words["change"], *labels[choice.item]] if items else []
    equals = [
        line for match in answer.equals for line in wrap(words["equal"].format(match.title[lang], match.id), limit)
    ]
    others = [match for match in answer.matches[1:] if match not in answer.equals]
    names = list(wrap(words["also"] + words["comma"].join(match.id for match in others), limit)) if others else []
    is_symptom = document["kind"] == "symptom"
    head = _head(answer, limit, lead, evidence=evidence)
    mismatch = entry_mismatch(document, context)
    own = own_line_change(answer, document, choice, context)
    operands = operand_lines(context, mismatch, document["inspect"], lang)
    return {
        "head": Part(head, len(head)),
        "answer": Part(list(wrap(advice(document, choice, lang), limit)), 2, 5),
        "own": Part(_own_line(own, lang, limit), 3, 3),
        "equals": Part(equals, len(equals)),
        "more": Part([_more(document, lang, limit)], 1),
        "record": Part(_record(answer, limit), 2, 3),
        "chosen": Part(chosen, len(chosen), 3),
        "diff": Part([f"     {line}" for line in case["remedy"]["diff"]] if case else [], 4, 4),
        "tell": Part(_run_in("how_to_tell", document["how_to_tell"][lang], lang, limit), 2 if is_symptom else 0, 2),
        "change": Part(change, 1, 3),
        "before": Part(before, len(before)),
        "after": Part(after, len(after)),
        "proof": Part([f"     {case['name']}  {badge(case, lang)}".rstrip()] if case else [], 0, 1),
        "notes": Part(_notes(answer, limit, mismatch), 3, 3),
        "operands": Part([clip(line, limit) for line in operands], min(3, len(operands)), 2),
        "why": Part(_run_in("why", document["why"][lang], lang, limit), 0, 1.5),
        "others": Part(names, 0, 0.5),
    }


def _head(answer: Answer, limit: int, lead: str, *, evidence: bool) -> list[str]:
    """Return two lines: how sure the match is with the title, and why the entry was found. The answer is the third."""
    first, words = answer.matches[0], STRINGS[answer.lang]
    confidence = words[first.confidence].lower()
    suffix = f" ({confidence})" if answer.lang == "en" else f"（{confidence}）"
    title = clip(lead + first.title[answer.lang], limit - columns(suffix)) + suffix
    evidence_line = first.id
    if evidence and first.evidence.line_number:
        evidence_line = words["line"].format(first.evidence.line_number, visible(first.evidence.line))
    elif evidence and first.evidence.words:
        evidence_line = words["words"].format(words["comma"].join(map(visible, first.evidence.words)))
    return [title, clip(evidence_line, limit)]


def _label(document: EntryDocument, choice: CauseChoice, at: int, lang: Lang, limit: int) -> list[str]:
    """Return a cause's label with its number; the chosen one is marked and says why it was chosen."""
    words = STRINGS[lang]
    label = plain(document["items"][lang][at]["cause"])
    mark = "> " if at == choice.item and len(document["items"][lang]) > 1 else "  "
    if at == choice.item and choice.clue:
        reason = words["frame" if choice.in_frame else "paste"].format(visible(choice.clue))
        label += f" ({reason})" if lang == "en" else f"（{reason}）"
    return list(wrap(label, limit, f"{mark}{at + 1}. ", "     "))


def _one_line(label: list[str], limit: int) -> list[str]:
    return label[:1] if len(label) == 1 else [clip(f"{label[0]} {label[1].strip()}", limit)]


def _run_in(name: str, markdown: str, lang: Lang, limit: int) -> list[str]:
    """Return a section whose heading begins its first line."""
    if not markdown:
        return []
    head = STRINGS[lang][name] + STRINGS[lang]["colon"]
    return [
        line
        for at, (mark, text) in enumerate(blocks(markdown))
        for line in wrap(("" if at else head) + mark + text, limit, "  " if at else "", "  ")
    ]


def _own_line(own: OwnLine | None, lang: Lang, limit: int) -> list[str]:
    """Return the place in the reader's code and the change there, whose lines are not wrapped."""
    if own is None:
        return []
    place = visible(STRINGS[lang]["own"].format(own.file, own.line))
    return [clip(place, limit), *(f"     {visible(line)}" for line in own.diff)]


def _notes(answer: Answer, limit: int, mismatch: Mismatch | None) -> list[str]:
    """Return which operand does not fit, what the message's numbers mean and where in the reader's own code to look."""
    explain = answer.matches[0].evidence.explain
    lines = list(wrap(mismatch.sentence[answer.lang], limit)) if mismatch else []
    lines += wrap(explain[answer.lang], limit) if explain else []
    frames = (error.frame for error in answer.errors if error.frame)
    if frame := next((frame for frame in frames if not frame.file.startswith("<")), None):
        place = visible(STRINGS[answer.lang]["look"].format(frame.file, frame.line))
        code = f"  `{visible(frame.code)}`" if frame.code else ""
        lines += wrap(place, limit) if columns(place + code) > limit else [place + code]
    return lines


def _record(answer: Answer, limit: int) -> list[str]:
    """Return what the released packages say, called what it is, and the address of the source."""
    record, words = answer.record, STRINGS[answer.lang]
    if record is None:
        return []
    text = words["record"] + words["record_note"] + words["colon"] + record.text(answer.lang)
    return [*wrap(text, limit, "", "  "), *([f"  {visible(record.address)}"] if record.address else [])]


def _more(document: EntryDocument, lang: Lang, limit: int) -> str:
    """Return where to read on; on a narrow screen the command alone."""
    rest = len(document["cases"]) - 1
    more = STRINGS[lang]["case" if rest == 1 else "cases" if rest > 1 else "more"].format(document["id"], rest)
    return more if columns(more) <= limit else f"kb show {document['id']}"


def _title(match: Match, lang: Lang, limit: int) -> Iterator[str]:
    return wrap(f"{match.id}: {match.title[lang]}", limit, "  ", "    ")


def _shortened(name: str, part: Part, given: int, limit: int) -> list[str]:
    """Return so many of a part's lines. Of a difference the unchanged lines go first."""
    if given >= len(part.lines):
        return part.lines
    if name in _PROSE:
        return cut(part.lines, given, limit)
    lines = [line for line in part.lines if line.strip()[:1] in ("+", "-")] if name == "diff" else part.lines
    return lines[:given] if len(lines) <= given or given < 2 else [*lines[: given - 1], "     …"]


def _sections(
    lines: dict[str, list[str]], document: EntryDocument, answer: Answer, style: Style
) -> Iterator[list[str]]:
    """Yield the painted sections in the order in which they are read."""
    confidence = GREEN if answer.matches[0].confidence == "exact" else YELLOW
    head, chosen = lines["head"], lines["chosen"]
    yield [
        *(style(line, code) for line, code in zip(head, (BOLD, CYAN), strict=False)),
        *paint(lines["answer"], style, confidence),
        *paint(lines["notes"], style),
        *paint(lines["equals"], style),
    ]
    own = lines["own"]
    yield [
        *(style(line, BOLD) for line in own[:1]),
        *change_lines([line.removeprefix("     ") for line in own[1:]], style, "     "),
    ]
    yield [*(style(line, YELLOW) if line.startswith(" !") else line for line in lines["operands"])]
    yield [*paint(_bold_head(lines["record"], "record", answer.lang, style), style)]
    tell = [*paint(_bold_head(lines["tell"], "how_to_tell", answer.lang, style), style)]
    if document["kind"] == "symptom":
        yield tell
    yield [
        *(style(line, BOLD) for line in chosen[:1]),
        *paint(lines["before"], style),
        *paint(chosen[1:], style),
        *paint(lines["change"], style),
        *(style(line, DIM) for line in lines["proof"]),
        *change_lines([line.removeprefix("     ") for line in lines["diff"]], style, "     "),
        *paint(lines["after"], style),
    ]
    if document["kind"] != "symptom":
        yield tell
    yield [*paint(_bold_head(lines["why"], "why", answer.lang, style), style)]
    yield [*(style(line, DIM) for line in lines["more"]), *lines["others"]]


def _bold_head(lines: list[str], name: str, lang: Lang, style: Style) -> list[str]:
    """Return lines whose first one begins with a heading, with the heading in bold."""
    head = STRINGS[lang][name]
    return [style(head, BOLD) + lines[0].removeprefix(head), *lines[1:]] if lines else []
