"""An entry as lines of text for a terminal: its guidance, the change of each case, its programs, and where to read on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.render.prose import plain, prose_lines, sentence
from kb.render.strings import STRINGS
from kb.render.terminal import BOLD, DIM, GREEN, RED, YELLOW, Style, columns, paint, wrap
from kb.startup.lazy_regex import lazy_pattern
from kb.text.languages import Lang

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import CaseDocument, ChangeDocument, CheckDocument, EntryDocument
    from kb.search.cause_choice import CauseChoice

__all__ = ["advice", "badge", "case_named", "change_lines", "entry_page", "short_cause"]

_QUOTED_IN_BRACKETS = lazy_pattern(r" ?[(（](?=[^()（）]*`)(?:[^()（）`]|`[^`]*`)*[)）]")
_WORDS = lazy_pattern(r"[A-Za-z]{3}|[^\x00-\u3000]{2}")
"""What a cause has beside its quotations if it says something: `报` and *or* say nothing."""


def advice(document: EntryDocument, choice: CauseChoice, lang: Lang) -> str:
    """Return on one line what is said first: the chosen cause and its change where that leads, else the entry's answer."""
    if not choice.leads:
        return plain(document["answer"][lang])
    item = document["items"][lang][choice.item]
    cause = short_cause(item["cause"])
    return plain(cause + STRINGS[lang]["colon"] + item["change"] if cause else sentence(item["change"]))


def short_cause(cause: str) -> str:
    """Return a cause without what it quotes in brackets; nothing where it says no more than what it quotes, which the reader has just pasted."""
    cause = _QUOTED_IN_BRACKETS.sub("", cause)
    return cause if _WORDS.search("".join(cause.split("`")[::2])) else ""


def badge(program: CaseDocument | CheckDocument, lang: Lang) -> str:
    """Return in a few words for which versions the case or check holds and where it was verified, or that it was not."""
    return f"torch {program['torch']}, {_proof(program, lang)}" if program["torch"] else _proof(program, lang)


def _proof(program: CaseDocument | CheckDocument, lang: Lang) -> str:
    words = STRINGS[lang]
    if program["badges"]:
        first = program["badges"][0]
        packages = "".join(f", {name} {version}" for name, version in first["packages"].items())
        return words["verified"].format(**first | {"torch": first["torch"].partition("+")[0] + packages})
    if program["state"] == "changed":
        return words["changed"]
    device = program["device"]
    return words["unverified"] if device == "cpu" else words["unverified_on"].format(device.upper())


def case_named(document: EntryDocument, name: str) -> CaseDocument | None:
    """Return the case of that name; where the name is empty the first case, and None where there is none."""
    return next((case for case in document["cases"] if name in ("", case["name"])), None)


def change_lines(diff: Sequence[str], style: Style, indent: str = "  ") -> Iterator[str]:
    """Yield the lines of a difference, indented and coloured."""
    for line in diff:
        yield (indent + style(line, {"+": GREEN, "-": RED}.get(line[:1], DIM))).rstrip()


def entry_page(
    document: EntryDocument, lang: Lang, limit: int, style: Style, cases: list[CaseDocument] | None = None
) -> Iterator[str]:
    """Yield the whole entry, its programs included: those of the cases given, or of all."""
    shown = document["cases"] if cases is None else cases
    yield style(document["title"][lang], BOLD)
    yield "=" * min(limit, columns(document["title"][lang]))
    yield from (style(f"{document['topic']}/{document['id']}", DIM), "")
    yield from (*paint(wrap(document["answer"][lang], limit), style), "")
    tell = list(_how_to_tell(document, lang, limit, style))
    if document["kind"] == "symptom":
        yield from tell
    if document["items"][lang]:
        yield style(STRINGS[lang]["change"], BOLD)
        for number, item in enumerate(document["items"][lang], 1):
            yield from _item(item, number, shown, lang, limit, style)
    if document["kind"] != "symptom":
        yield from tell
    yield from _section("why", prose_lines(document["why"][lang], limit), lang, style)
    for case in shown:
        yield from _programs(case, style)
    if document["messages"]:
        lines = [line for message in document["messages"] for line in wrap(message, limit, "  ", "    ")]
        yield from _section("messages", lines, lang, style)
    if document["related"]:
        titles = [f"{entry['id']}: {entry['title'][lang]}" for entry in document["related"]]
        lines = [line for title in titles for line in wrap(title, limit, "  ", "    ")]
        yield from _section("related", lines, lang, style)
    yield from (f"  {source}" for source in document["sources"] if source.startswith("https:"))


def _section(name: str, lines: list[str], lang: Lang, style: Style) -> Iterator[str]:
    if lines:
        yield style(STRINGS[lang][name], BOLD)
        yield from paint(lines, style)
        yield ""


def _item(
    item: ChangeDocument, number: int, shown: list[CaseDocument], lang: Lang, limit: int, style: Style
) -> Iterator[str]:
    """Yield one cause with its change, and the difference of each of its cases that is shown."""
    yield from paint(wrap(plain(item["cause"]), limit, f"  {number}. ", "     "), style)
    yield from paint(wrap(plain(sentence(item["change"])), limit, "     "), style)
    for case in shown:
        if case["name"] in item["cases"]:
            yield (
                style(f"     {case['name']}", BOLD)
                + "  "
                + style(badge(case, lang), GREEN if case["badges"] else YELLOW)
            )
            yield from change_lines(case["remedy"]["diff"], style, "     ")
    yield ""


def _how_to_tell(document: EntryDocument, lang: Lang, limit: int, style: Style) -> Iterator[str]:
    words = STRINGS[lang]
    yield from _section("how_to_tell", prose_lines(document["how_to_tell"][lang], limit), lang, style)
    for check in document["checks"]:
        yield style(words["check"].format(check["name"]), BOLD) + "  " + style(badge(check, lang), DIM)
        yield from _indented(check["program"])
        yield ""
        if check["printed"]:
            yield style(words["printed"], BOLD)
            yield from (*_indented(check["printed"]), "")


def _programs(case: CaseDocument, style: Style) -> Iterator[str]:
    for role in ("repro", "fix"):
        yield style(f"{role} {case['name']}".strip(), BOLD)
        yield from (*_indented(case[role]), "")


def _indented(text: str) -> Iterator[str]:
    from kb.render.terminal import visible

    return (f"  {visible(line)}".rstrip() for line in text.rstrip().split("\n"))
