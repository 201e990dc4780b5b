"""An answer as HTML for a notebook: it stands alone, loads nothing, and reads on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from kb.render.context_text import entry_mismatch, operand_lines
from kb.render.entry_text import advice, badge, case_named
from kb.render.own_line import OwnLine, own_line_change
from kb.render.prose import blocks, plain, sentence
from kb.render.strings import STRINGS
from kb.search.answer import Answer
from kb.search.cause_choice import fitting_cause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import EntryDocument
    from kb.inspection.crash_context import CrashContext
    from kb.search.cause_choice import CauseChoice
    from kb.text.languages import Lang

__all__ = ["answer_html", "with_code_spans"]

_MARK = {"+": "rgba(46, 160, 67, .22)", "-": "rgba(248, 81, 73, .22)"}
"""Backgrounds of added and removed lines: so faint that the page's own text colour stays legible on either."""
_BOX = "border-left: 3px solid #3b82f6; padding-left: 1em; max-width: 50em"


def answer_html(answer: Answer, document: EntryDocument, text: str, context: CrashContext | None = None) -> str:
    """Return the answer: the title, what to do, what the program had in its hands, what released packages say, and the causes.

    The cause that fits is open and shows its change. The other causes, how to tell, why and the program are folded away.
    """
    lang = answer.lang
    words, first = STRINGS[lang], answer.matches[0]
    explain = first.evidence.explain
    mismatch = entry_mismatch(document, context)
    choice = fitting_cause(answer, document, text)
    own = own_line_change(answer, document, choice, context)
    operands = operand_lines(context, mismatch, document["inspect"], lang)
    rest = len(document["cases"]) - 1
    more = words["case" if rest == 1 else "cases" if rest > 1 else "more"].format(first.id, rest)
    parts = [
        f'<div class="kb-answer" lang="{"zh-Hans" if lang == "zh" else "en"}" style="{_BOX}">',
        f"<p><strong>{escape(first.title[lang])}</strong><br><small>kb: {escape(words[first.confidence])}, {_code(first.id)}</small></p>",
        f"<p>{escape(explain[lang])}</p>" if explain else "",
        f'<p style="font-size: 1.15em">{with_code_spans(advice(document, choice, lang))}</p>',
        *_own_line(own, lang),
        f"<p>{with_code_spans(mismatch.sentence[lang])}</p>" if mismatch else "",
        f"<p>{with_code_spans(operands[0])}</p><pre>{escape(chr(10).join(operands[1:]))}</pre>" if operands else "",
        _record(answer),
        *_causes(document, choice, lang),
        *(
            _folded(words[part], _prose(document[part][lang]))
            for part in ("how_to_tell", "why")
            if document[part][lang]
        ),
        f"<p><small>{escape(more)}</small></p>",
        "</div>",
    ]
    return "\n".join(filter(None, parts))


def _record(answer: Answer) -> str:
    """Return what the released packages say, called what it is, with a link to the source."""
    record, words = answer.record, STRINGS[answer.lang]
    if record is None:
        return ""
    link = f' <a href="{escape(record.address)}">{escape(record.address)}</a>' if record.address else ""
    heading = f"<strong>{escape(words['record'])}</strong><small>{escape(words['record_note'])}</small>"
    return f"<p>{heading}<br>{with_code_spans(record.text(answer.lang))}{link}</p>"


def _own_line(own: OwnLine | None, lang: Lang) -> Iterator[str]:
    """Yield the change of the reader's own line."""
    if own is not None:
        yield f"<p><strong>{escape(STRINGS[lang]['own'].format(own.file, own.line))}</strong></p>"
        yield f'<pre style="line-height: 1.4">{"".join(map(_line, own.diff))}</pre>'


def _causes(document: EntryDocument, choice: CauseChoice, lang: Lang) -> Iterator[str]:
    """Yield the list of causes; the chosen one is open, with the change of its case."""
    words, items = STRINGS[lang], document["items"][lang]
    if items:
        yield f"<p><strong>{escape(words['change'])}</strong></p>"
    for at, item in enumerate(items):
        cause, body = (
            with_code_spans(plain(item["cause"])),
            f"<p>{with_code_spans(plain(sentence(item['change'])))}</p>",
        )
        if at != choice.item:
            yield f"<details><summary>{cause}</summary>{body}</details>"
            continue
        if choice.clue:
            reason = words["frame" if choice.in_frame else "paste"].format(choice.clue)
            cause += f" <small>({with_code_spans(reason)})</small>"
        said = "" if choice.leads else body
        yield f"<details open><summary>{cause}</summary>{said}{''.join(_change(document, choice, lang))}</details>"


def _change(document: EntryDocument, choice: CauseChoice, lang: Lang) -> Iterator[str]:
    case = case_named(document, choice.case) if choice.case else None
    if case is None:
        return
    words, diff, check = STRINGS[lang], case["remedy"]["diff"], case["remedy"]["check"]
    yield f'<pre style="line-height: 1.4">{"".join(map(_line, diff))}</pre>'
    yield f"<p><small>{escape(badge(case, lang))}</small></p>"
    if check:
        yield _folded(words["proof"], f"<pre>{escape(check)}</pre>")
    yield _folded(words["program"], f"<pre>{escape(case['fix'])}</pre>")


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def _prose(markdown: str) -> str:
    return "\n".join(_listed(blocks(markdown)))


def _listed(parts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield paragraphs and, between their tags, list items."""
    within = ""
    for mark, text in parts:
        kind = "" if not mark else "ul" if mark == "- " else "ol"
        if kind != within:
            yield (f"</{within}>" if within else "") + (f"<{kind}>" if kind else "")
            within = kind
        tag = "li" if kind else "p"
        yield f"<{tag}>{with_code_spans(text)}</{tag}>"
    if within:
        yield f"</{within}>"


def with_code_spans(text: str) -> str:
    """Return text as HTML, with its code spans as `<code>` and nothing else interpreted: values from a paste may stand in it."""
    return "".join(
        _code(part) if at % 2 else escape(part) for at, part in enumerate(text.replace("``", "`").split("`"))
    )


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _line(line: str) -> str:
    """Return one line of a difference."""
    background = _MARK.get(line[:1])
    style = f' style="background: {background}"' if background else ' style="opacity: .75"'
    return f"<span{style}>{escape(line)}</span>\n"
