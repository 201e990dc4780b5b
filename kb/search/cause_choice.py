"""Which of an entry's causes fits a paste: by the clues that only one cause has, and by what each cause says.

A message may name its cause, or its values may tell it, which then is the one. Otherwise each cause has a score, a sum of named signals with fitted
weights: clues of several kinds, how similar the paste is to what the cause says, and whether its programs printed the message. The cause with the highest
is chosen. It is claimed to fit only where that is probable and there is a clue that can be shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from kb.search.calibration import model
from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple
from kb.text.languages import LANGUAGES
from kb.text.scripts import is_han

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    from kb.documents.shapes import CaseDocument, ChangeDocument, EntryDocument
    from kb.search.answer import Answer

__all__ = [
    "CLAIM",
    "CLUES",
    "PLACEHOLDER",
    "CauseChoice",
    "cause_signals",
    "choose_case",
    "choose_cause",
    "fitting_cause",
    "shares",
]

Clue: TypeAlias = "Literal['quoted', 'in_change', 'filled', 'named', 'printed', 'sizes', 'code', 'label', 'device']"
CLUES: tuple[Clue, ...] = ("quoted", "in_change", "filled", "named", "printed", "sizes", "code", "label", "device")
"""The kinds of clues: code spans of the cause, and the version of torch that it names; code spans of the change that the message has; words that fill in
the message's placeholders and stand in its code spans or programs; where no message matched, words in its code spans; that only this cause's programs printed
the message; that these printed sizes of the same form, and those of others another form; words of its programs, and of the cause; its devices."""

CLAIM = 0.75
"""The probability from which a cause is claimed to fit."""

_CODE_SPAN = lazy_pattern(r"``? ?(.+?) ?``?(?!`)")
_EXCEPTION = lazy_pattern(r"[A-Z]\w*(?:Error|Exception|Warning)\b")
"""An exception's type is printed behind its module."""
_DOTS = lazy_pattern(r"\s*+(?:\.\.\.|…)\s*+")
_SOMETHING = r"[^\n]{1,200}?"
PLACEHOLDER = lazy_pattern(r"\{[^{}]*\}")
_IDENTIFIER = lazy_pattern(r"[A-Za-z_]\w{2,}")
_LABEL_WORD = lazy_pattern(r"[a-z]{4,}")
_SIZE = r"(?P<size>\d+(?:\.\d+)? ?(?P<unit>[KMGT]i?B)\b[^\n\d]{0,12})?"
_SHAPE = lazy_pattern(r"\[\d++(?:, ?\d++)*\]|\b\d++(?:x\d++)+\b")
_NUMBER = lazy_pattern(r"\d+")
_DEVICE = lazy_pattern(r"(?<![\w.])(?:cpu|(?:cuda|mps|npu|xpu)(?::\d+)?)(?![\w:]|\.\w)")
_UNIT = lazy_pattern(r"\b[KMGT]i?B\b")
_VERSION = lazy_pattern(r"\btorch(?:==|[ -])v?(\d+\.\d+)", re.IGNORECASE)
_FRAME = lazy_pattern(r'^\s*File "[^"\n]*", line \d+(?:, in .*)?\n?.*$', re.MULTILINE)
_WORDS_OF_TRACEBACKS = lazy_pattern(r'Traceback \(most recent call last\)|\bFile (?=")')
_DISTINCTIVE = lazy_pattern(r"[a-z][A-Z]|\w_\w|^[A-Z]\w+[A-Z]")
_PADDING = lazy_pattern(r"[ \t]++(?=[: ])|(?<= )[ \t]++")
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
    "args backward batch call_impl data device forward get_item import input inputs kwargs labels line loss main model models module "
    "modules optimizer output outputs result return self step tensor the torch train training wrapped_call_impl".split()
)


class _Clue(NamedTuple):
    """A piece of the paste that speaks for a cause, how it does, and how strongly beside others of its kind."""

    text: str
    kind: Clue
    strength: float = 1.0


class CauseChoice(NamedTuple):
    """The index of the chosen cause and the name of its case that fits best, which is empty where the cause has none.

    `clue` is the piece of the paste that decided, or empty where nothing is claimed; `in_frame` says that it is in a traceback's frames.
    """

    item: int
    case: str
    clue: str = ""
    in_frame: bool = False

    @property
    def leads(self) -> bool:
        """Whether the cause's change is said first, in place of the entry's answer: the paste shows a cause that is not the first one."""
        return bool(self.clue) and self.item > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as JSON has it: the item's number from 1."""
        return self._asdict() | {"item": self.item + 1}


def choose_cause(
    document: EntryDocument,
    text: str,
    template: str = "",
    similarities: Sequence[float] = (),
    values: Mapping[str, str] | None = None,
) -> CauseChoice:
    """Return the cause of the entry that fits the pasted text, of which `template` is the message that matched, with these values.

    `similarities` say how similar the text is to what each of the causes says; they may be unknown.
    """
    items = document["items"]["en"]
    if not items:
        return CauseChoice(0, "")
    text = text[-_MAX_PASTE:]
    number = document["causes"].get(template) or _told_by_values(document, template, values or {})
    if 0 < number <= len(items):
        return CauseChoice(
            number - 1, _case_name(document, number - 1, text), _beginning(_message_lines(text, template))
        )
    clues = _clues_by_item(document, text, template)
    scores = [model().cause(signals) for signals in _signals(document, template, clues, similarities)]
    best = scores.index(max(scores))
    probable = shares(scores)[best]
    weights = model().cause.weights
    clue = max(clues[best], key=lambda clue: (weights[clue.kind] * clue.strength, len(clue.text)), default=None)
    shown = clue.text if clue and probable >= CLAIM else ""
    in_frame = bool(shown) and any(shown in frame for frame in _FRAME.findall(text))
    return CauseChoice(best, _case_name(document, best, text), shown, in_frame)


def fitting_cause(answer: Answer, document: EntryDocument, text: str) -> CauseChoice:
    """Return the cause of the first match's entry that fits what was asked."""
    why = answer.matches[0].evidence
    return choose_cause(document, text, why.template, answer.cause_similarities, why.values)


def _told_by_values(document: EntryDocument, template: str, values: Mapping[str, str]) -> int:
    """Return the number of the cause that the message's values tell, or 0."""
    conditions = document["causes_by_values"].get(template)
    if not conditions:
        return 0
    from kb.templates.value_conditions import cause_of_values

    return cause_of_values(conditions, values)


def shares(scores: Sequence[float]) -> list[float]:
    """Return the share of the odds that each of the scores has, which are in nats."""
    odds = [math.exp(score - max(scores)) for score in scores]
    return [part / sum(odds) for part in odds]


def cause_signals(
    document: EntryDocument, text: str, template: str, similarities: Sequence[float]
) -> list[dict[str, float]]:
    """Return the numbers by which the causes of an entry are compared, of each cause."""
    return _signals(document, template, _clues_by_item(document, text[-_MAX_PASTE:], template), similarities)


def _signals(
    document: EntryDocument, template: str, clues: Sequence[Sequence[_Clue]], similarities: Sequence[float]
) -> list[dict[str, float]]:
    first, _ = _first_that_prints(document, template)
    return [
        {kind: math.log1p(sum(clue.strength for clue in own if clue.kind == kind)) for kind in CLUES}
        | {
            "similarity": similarities[index] if index < len(similarities) else 0.0,
            "is_first": float(index == first),
            "position": float(index),
        }
        for index, own in enumerate(clues)
    ]


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


def _clues_by_item(document: EntryDocument, text: str, template: str) -> list[list[_Clue]]:
    items = document["items"]["en"]
    clues_of_items: list[list[_Clue]] = [[] for _ in items]
    if len(items) == 1 or not text:
        return clues_of_items
    cases = _cases_by_item(document)
    message = _message_lines(text, template)
    printing, is_only = _first_that_prints(document, template)
    if is_only:
        clues_of_items[printing].append(_Clue(_beginning(message), "printed"))
    topic = document["id"].replace("-", "\n") + "\n"  # its words are in most pastes
    plain_text, plain_message = _without_padding(text), _without_padding(message)
    for index, item in enumerate(items):
        elsewhere = topic + "\n".join(
            f"{case['repro']}{_output(case)}" for own in cases if own is not cases[index] for case in own
        )
        elsewhere += "\n".join(other["cause"] for other in items if other is not item)
        clues_of_items[index] += _quoted(item["cause"], elsewhere, document["messages"], plain_text)
        elsewhere += "\n".join(other["change"] for other in items if other is not item)
        of_change = _quoted(item["change"], elsewhere, document["messages"], plain_message)
        clues_of_items[index] += [clue._replace(kind="in_change") for clue in of_change]
        clues_of_items[index] += _version(item, text)
    if sum(map(bool, cases)) == 1:
        cases = [[] for _ in items]  # a program tells causes apart only beside that of another cause
    for clues, of_sizes in zip(clues_of_items, _size_clues(cases, message), strict=True):
        clues.extend(of_sizes)
    by_code = [{word for case in own for word in _identifiers(case["repro"])} for own in cases]
    by_label = [_label_words(document, index) for index in range(len(items))]
    by_device = [
        {name for case in own for name in _devices(f"{case['device']} {case['repro']} {_output(case)}")}
        for own in cases
    ]
    asked = _identifiers(text)
    filled_in = _identifiers(message) - _identifiers(template)
    for clues, (code, others) in zip(clues_of_items, _with_others(by_code), strict=True):
        for word in sorted((code & asked) - others - _COMMON_IDENTIFIERS):
            if template and word in filled_in:
                clues.append(_Clue(word, "filled"))
            else:
                clues.append(_Clue(word, "code", 1.0 if _DISTINCTIVE.search(word) else 0.25))
    by_span = [_identifiers(" ".join(_CODE_SPAN.findall(f"{item['cause']} {item['change']}"))) for item in items]
    filled_in = filled_in.difference(_COMMON_IDENTIFIERS, _STOP_WORDS, document["id"].split("-"), *by_code)
    kind: Clue = "filled" if template else "named"
    for clues, (names, others) in zip(clues_of_items, _with_others(by_span), strict=True):
        clues.extend(_Clue(name, kind) for name in sorted((names & filled_in) - others))
    in_message = set(_LABEL_WORD.findall(template.lower()))
    words_of_text = set(_LABEL_WORD.findall(_WORDS_OF_TRACEBACKS.sub(" ", text).lower()))
    for clues, (label, others) in zip(clues_of_items, _with_others(by_label), strict=True):
        own = label - others - in_message - _COMMON_IDENTIFIERS
        written = (word for word in sorted(own) if word in words_of_text or (not word.isascii() and word in text))
        clues.extend(_Clue(word, "label") for word in written)
    worded = _devices(template.lower())
    devices = _devices(message) | worded
    for clues, (device, others) in zip(clues_of_items, _with_others(by_device), strict=True):
        own = (device & devices) - others
        clues.extend(_Clue(name, "device", 2.0 if ":" in name or name in worded else 1.0) for name in sorted(own))
    return clues_of_items


def _output(case: CaseDocument) -> str:
    """Return the last errors that the case's repro printed, a line for each wording."""
    return "\n".join(case["last_lines"])


def _size_clues(cases: list[list[CaseDocument]], message: str) -> list[list[_Clue]]:
    """Return the sizes of the message as a clue for the cause whose programs printed sizes of the same form, if others printed some of another form."""
    form = _size_form(message)
    clue = _Clue(" ".join(_SHAPE.findall(message)), "sizes")
    by_item = [{_size_form(line) for case in own for line in case["last_lines"]} - {""} for own in cases]
    return [[clue] if others and form in own - others else [] for own, others in _with_others(by_item)]


def _size_form(text: str) -> str:
    """Return the form of the sizes that a message names: each number but 0 and 1 by the order in which it comes.

    So `[8] and [8, 1]` has the form of `[64] and [64, 1]`.
    """
    order: dict[str, str] = {"0": "0", "1": "1"}
    shapes = " ".join(_SHAPE.findall(text))
    return _NUMBER.sub(lambda number: order.setdefault(number.group(), f"n{len(order)}"), shapes)


def _beginning(message: str) -> str:
    """Return the first words of a message."""
    line = message.strip().partition("\n")[0]
    return line if len(line) <= _MAX_CLUE else line[:_MAX_CLUE].rpartition(" ")[0]


def _quoted(cause: str, elsewhere: str, messages: list[str], text: str) -> Iterator[_Clue]:
    """Yield the code spans of a cause that the text has, which is without padding; dots in a span stand for anything on the line.

    A span tells nothing if most wordings of the message have it, or if it is `elsewhere`, in the causes and programs of the others. Where the
    cause names a unit (several GiB), the amount before the span must be in that unit.
    """
    for span in _CODE_SPAN.findall(_PADDING.sub("", cause)):
        if len(span) < _MIN_SPAN or span in _COMMON_IDENTIFIERS or span in elsewhere:
            continue
        parts = _DOTS.split(span)
        if not all(part in text for part in parts):
            continue  # most spans end here, before a pattern is compiled for them
        before = "" if not parts[0] else r"(?<!\w)" if _EXCEPTION.match(span) else r"(?<![\w.])(?:torch\.)?"
        after = r"(?!\w)" if re.search(r"\w$", parts[-1]) else ""
        match = re.search(_SIZE + before + _SOMETHING.join(map(re.escape, filter(None, parts))) + after, text)
        if match is None:
            continue
        unit = _UNIT.search(cause)
        if unit and match["unit"]:
            if unit.group() == match["unit"] and float(match["size"].split(match["unit"])[0]) >= 1:
                yield _Clue(match.group(), "quoted")
        elif 2 * sum(span in message for message in messages) <= len(messages):
            yield _Clue(span, "quoted")


def _without_padding(text: str) -> str:
    """Return a paste without backquotes, which no code span has, and without what pads a table: `exitcode  : -9` becomes `exitcode: -9`."""
    return _PADDING.sub("", text.replace("`", ""))


def _version(item: ChangeDocument, text: str) -> Iterator[_Clue]:
    """Yield the torch version that the paste names, if the cause is about it."""
    for version in set(_VERSION.findall(text)):
        if re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.])", item["cause"]):
            yield _Clue(f"torch {version}", "quoted")


def _message_lines(text: str, template: str) -> str:
    """Return the lines of the paste that hold an error's message: those with two words of the template, or all that are in no frame."""
    if "\n" not in text:
        return text
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
