"""Which of an entry's causes fits a paste: a small score over what the paste shows, and the clue that decided.

A message may name its cause, which then is the one. Otherwise the score adds up clues that only one cause has. A cause is claimed to fit only
where its clues reach `MIN_SCORE` and are `MIN_LEAD` ahead of those of every other cause. Where none is, nothing is claimed, and the first cause that
may have printed the message is chosen, which is the commonest: one whose programs did, or that has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kb.text.languages import LANGUAGES
from kb.text.lazy_regex import lazy_pattern
from kb.text.scripts import is_han

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import CaseDocument, ChangeDocument, EntryDocument

__all__ = ["PLACEHOLDER", "CauseChoice", "choose_case", "choose_cause"]

MIN_SCORE = 2.0
MIN_LEAD = 1.0

_CODE_SPAN = lazy_pattern(r"``? ?(.+?) ?``?(?!`)")
_EXCEPTION = lazy_pattern(r"[A-Z]\w*(?:Error|Exception|Warning)\b")
"""An exception's type is printed behind its module."""
_DOTS = lazy_pattern(r"\s*+(?:\.\.\.|…)\s*+")
_SOMETHING = r"[^\n]{1,200}?"
PLACEHOLDER = lazy_pattern(r"\{[^{}]*\}")
_IDENTIFIER = lazy_pattern(r"[A-Za-z_]\w{2,}")
_OUTPUT_WORD = lazy_pattern(r"[A-Za-z_][\w.:]*\w")
_LABEL_WORD = lazy_pattern(r"[a-z]{4,}")
_SIZE = r"(?P<size>\d+(?:\.\d+)? ?(?P<unit>[KMGT]i?B)\b[^\n\d]{0,12})?"
_DEVICE = lazy_pattern(r"\b(?:cpu|(?:cuda|mps|npu|xpu)(?::\d+)?)(?![\w:])")
_UNIT = lazy_pattern(r"\b[KMGT]i?B\b")
_VERSION = lazy_pattern(r"\btorch(?:==|[ -])v?(\d+\.\d+)", re.IGNORECASE)
_FRAME = lazy_pattern(r'^\s*File "[^"\n]*", line \d+(?:, in .*)?\n?.*$', re.MULTILINE)
_DISTINCTIVE = lazy_pattern(r"[a-z][A-Z]|\w_\w|^[A-Z]\w+[A-Z]")
_MIN_SPAN = 4
"""Characters that a code span of a cause needs, because shorter ones are in most pastes."""
_MAX_PASTE = 100_000
"""Characters at the end of a paste in which clues are looked for."""
_MAX_CLUE = 60
"""Characters of a message that are shown as the clue."""
_STOP_WORDS = frozenset(
    "also another because before comes does each error every fails from have into later message more most nothing only other same "
    "several says shows some such than that their them then there they this when where which while with without your".split()
)
_COMMON_IDENTIFIERS = frozenset(
    "args batch call_impl data device forward get_item import input inputs kwargs labels line loss main model models module "
    "modules optimizer output outputs result return self step tensor the torch train training wrapped_call_impl".split()
)


class _Clue(NamedTuple):
    """A piece of the paste that speaks for a cause, and how strongly."""

    text: str
    weight: float


class CauseChoice(NamedTuple):
    """The index of the chosen cause and the name of its case that fits best, which is empty where the cause has none.

    `clue` is the piece of the paste that decided, or empty where nothing is claimed; `in_frame` says that it is in a traceback's frames.
    """

    item: int
    case: str
    clue: str = ""
    in_frame: bool = False


def choose_cause(document: EntryDocument, text: str, template: str = "") -> CauseChoice:
    """Return the cause of the entry that fits the pasted text, of which `template` is the message that matched."""
    items = document["items"]["en"]
    if not items:
        return CauseChoice(0, "")
    text = text[-_MAX_PASTE:]
    if number := document["causes"].get(template):
        return CauseChoice(
            number - 1, _case_name(document, number - 1, text), _beginning(_message_lines(text, template))
        )
    first, is_only = _first_that_prints(document, template)
    clues: list[list[_Clue]] = [[] for _ in items]
    if len(items) > 1 and text:
        clues = _clues_by_item(document, text, template, first if is_only else None)
    scores = [sum(clue.weight for clue in clues_of_item) for clues_of_item in clues]
    best = scores.index(max(scores))
    lead = scores[best] - max((score for index, score in enumerate(scores) if index != best), default=0.0)
    if not (scores[best] >= MIN_SCORE and lead >= MIN_LEAD):
        best, clue = first, ""
    else:
        clue = max(clues[best], key=lambda clue: (clue.weight, len(clue.text))).text
    in_frame = bool(clue) and any(clue in frame for frame in _FRAME.findall(text))
    return CauseChoice(best, _case_name(document, best, text), clue, in_frame)


def _case_name(document: EntryDocument, index: int, text: str) -> str:
    cases = _cases_by_item(document)[index]
    return choose_case(cases, text)["name"] if cases else ""


def choose_case(cases: list[CaseDocument], text: str) -> CaseDocument:
    """Return the case whose own words, which no other of the cases has, the text has most of; the first where no case is ahead."""
    if len(cases) == 1 or not text:
        return cases[0]
    words = [
        _identifiers(f"{case['name'].replace('-', ' ')} {case['device']} {_output(case)}\n{case['repro']}")
        for case in cases
    ]
    asked = _identifiers(text)
    scores = [len((own & asked) - others) for own, others in _with_others(words)]
    return cases[scores.index(max(scores))]


def _cases_by_item(document: EntryDocument) -> list[list[CaseDocument]]:
    """Return the cases of each cause."""
    items = document["items"]["en"]
    return [[case for case in document["cases"] if case["name"] in item["cases"]] for item in items]


def _first_that_prints(document: EntryDocument, template: str) -> tuple[int, bool]:
    """Return the index of the first cause that may print the message, and whether only its programs are known to have printed it.

    A cause may print it where one of its programs did, or where it has none or the output of one is not known. It is the first of all where no program
    printed the message.
    """
    cases = _cases_by_item(document)
    printing = [index for index, own in enumerate(cases) if any(template in case["messages"] for case in own)]
    unknown = [index for index, own in enumerate(cases) if not all(case["last_lines"] for case in own)]
    if not printing:
        return 0, False
    first = min([*printing, *unknown, *(index for index, own in enumerate(cases) if not own)])
    return first, printing == [first] and not unknown


def _clues_by_item(document: EntryDocument, text: str, template: str, printing: int | None) -> list[list[_Clue]]:
    items = document["items"]["en"]
    cases = _cases_by_item(document)
    message = _message_lines(text, template)
    unquoted = message.replace("`", "")
    clues_of_items: list[list[_Clue]] = [[] for _ in items]
    if printing is not None:
        clues_of_items[printing].append(_Clue(_beginning(message), 2.0))
    for index, item in enumerate(items):
        elsewhere = "\n".join(
            f"{case['repro']}{_output(case)}" for own in cases if own is not cases[index] for case in own
        )
        elsewhere += "\n".join(other["cause"] for other in items if other is not item)
        of_cause = _quoted(item["cause"], elsewhere, document["messages"], text)
        clues_of_items[index] += (clue._replace(weight=5.0) if clue.text in unquoted else clue for clue in of_cause)
        elsewhere += "\n".join(other["change"] for other in items if other is not item)
        of_change = _quoted(item["change"], elsewhere, document["messages"], message)
        clues_of_items[index] += [clue._replace(weight=2.0) for clue in of_change]
        clues_of_items[index] += _version(item, text)
    if sum(map(bool, cases)) == 1:
        cases = [[] for _ in items]  # a program tells causes apart only beside that of another cause
    by_output = [{word for case in own for word in _OUTPUT_WORD.findall(_output(case))} for own in cases]
    if not all(output for output, own in zip(by_output, cases, strict=True) if own):
        by_output = [set() for _ in items]  # a word is a cause's own only if the outputs of the others are known
    by_code = [{word for case in own for word in _identifiers(case["repro"])} for own in cases]
    by_label = [_label_words(document, index) for index in range(len(items))]
    by_device = [
        {name for case in own for name in _devices(f"{case['device']} {case['repro']} {_output(case)}")}
        for own in cases
    ]
    said = set(_OUTPUT_WORD.findall(message)) - set(_OUTPUT_WORD.findall(PLACEHOLDER.sub(" ", template)))
    asked = _identifiers(text)
    for clues, (output, others) in zip(clues_of_items, _with_others(by_output), strict=True):
        own = {word for word in (output & said) - others if not word.endswith(("Error", "Warning"))}
        clues.extend(_capped((_Clue(word, 1.0 if len(word) > 3 else 0.5) for word in own), 3.0))
    for clues, (code, others) in zip(clues_of_items, _with_others(by_code), strict=True):
        own = (code & asked) - others - _COMMON_IDENTIFIERS
        clues.extend(_capped((_Clue(word, 1.0 if _DISTINCTIVE.search(word) else 0.25) for word in own), 2.5))
    in_message = set(_LABEL_WORD.findall(template.lower()))
    words_of_text = set(_LABEL_WORD.findall(text.lower()))
    for clues, (label, others) in zip(clues_of_items, _with_others(by_label), strict=True):
        weight = 0.5 if _FRAME.search(text) else 0.75
        own = label - others - in_message
        written = (word for word in own if word in words_of_text or (not word.isascii() and word in text))
        clues.extend(_capped((_Clue(word, weight) for word in written), 2.25))
    worded = _devices(template.lower())
    devices = _devices(message) | worded
    for clues, (device, others) in zip(clues_of_items, _with_others(by_device), strict=True):
        own = (device & devices) - others
        clues.extend(_Clue(name, 2.0 if ":" in name or name in worded else 1.0) for name in sorted(own))
    return clues_of_items


def _output(case: CaseDocument) -> str:
    """Return the last errors that the case's repro printed, a line for each wording."""
    return "\n".join(case["last_lines"])


def _beginning(message: str) -> str:
    """Return the first words of a message."""
    line = message.strip().partition("\n")[0]
    return line if len(line) <= _MAX_CLUE else line[:_MAX_CLUE].rpartition(" ")[0]


def _quoted(cause: str, elsewhere: str, messages: list[str], text: str) -> Iterator[_Clue]:
    """Yield the code spans of a cause that the paste has; dots in a span stand for anything on the line.

    A span tells nothing if most wordings of the message have it, or if it is `elsewhere`, in the causes and programs of the others. Where the
    cause names a unit (several GiB), the amount before the span must be in that unit. Backquotes in the paste do not count, because a span cannot have them.
    """
    text = text.replace("`", "")
    for span in _CODE_SPAN.findall(cause):
        if len(span) < _MIN_SPAN or span in _COMMON_IDENTIFIERS or span in elsewhere:
            continue
        parts = _DOTS.split(span)
        if not all(part in text for part in parts):
            continue  # most spans end here, before a pattern is compiled for them
        before = "" if not parts[0] else r"(?<!\w)" if _EXCEPTION.match(span) else r"(?<![\w.])"
        after = r"(?!\w)" if parts[-1] else ""
        match = re.search(_SIZE + before + _SOMETHING.join(map(re.escape, filter(None, parts))) + after, text)
        if match is None:
            continue
        unit = _UNIT.search(cause)
        if unit and match["unit"]:
            if unit.group() == match["unit"] and float(match["size"].split(match["unit"])[0]) >= 1:
                yield _Clue(match.group(), 3.0)
        elif 2 * sum(span in message for message in messages) <= len(messages):
            yield _Clue(span, 3.0)


def _version(item: ChangeDocument, text: str) -> Iterator[_Clue]:
    """Yield the torch version that the paste names, if the cause is about it."""
    for version in set(_VERSION.findall(text)):
        if re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.])", item["cause"]):
            yield _Clue(f"torch {version}", 2.0)


def _message_lines(text: str, template: str) -> str:
    """Return the lines of the paste that hold an error's message: those with two words of the template, or all that are in no frame."""
    outside = _FRAME.sub("", text)
    words = set(_IDENTIFIER.findall(PLACEHOLDER.sub(" ", template)))
    lines = [line for line in outside.split("\n") if len(words & set(_IDENTIFIER.findall(line))) >= 2]
    return "\n".join(lines) or outside


def _label_words(document: EntryDocument, index: int) -> set[str]:
    """Return the words of a cause's label in both languages: English words, and pairs of Chinese characters."""
    words: set[str] = set()
    for lang in LANGUAGES:
        items = document["items"][lang]
        label = _CODE_SPAN.sub(" ", items[index]["cause"]).lower() if index < len(items) else ""
        words |= set(_LABEL_WORD.findall(label)) - _STOP_WORDS
        words |= {label[at : at + 2] for at in range(len(label) - 1) if is_han(label[at]) and is_han(label[at + 1])}
    return words


def _devices(text: str) -> set[str]:
    """Return the devices that a text names; the first of a kind counts as the kind, because `cuda` means `cuda:0`."""
    return {name.removesuffix(":0") for name in _DEVICE.findall(text)}


def _identifiers(text: str) -> set[str]:
    return set(_IDENTIFIER.findall(text))


def _with_others(words: list[set[str]]) -> Iterator[tuple[set[str], set[str]]]:
    """Yield each set with the union of all the others."""
    for index, own in enumerate(words):
        yield own, set().union(*words[:index], *words[index + 1 :])


def _capped(clues: Iterable[_Clue], most: float) -> list[_Clue]:
    """Return the heaviest clues, as many as weigh no more than `most` together; ties in the order of their text."""
    kept: list[_Clue] = []
    total = 0.0
    for clue in sorted(clues, key=lambda clue: (-clue.weight, clue.text)):
        if total + clue.weight > most:
            break
        kept.append(clue)
        total += clue.weight
    return kept
