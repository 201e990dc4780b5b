"""kb as a server of the Model Context Protocol: the tools `lookup` and `show` for coding assistants, by the protocol's official SDK.

Answers are Markdown in one language: an assistant reads programs best as fenced blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from kb import __version__
from kb.index.manager import open_index
from kb.inspection.crash_context import CrashContext
from kb.inspection.expression import Expression
from kb.inspection.operands import Operand
from kb.render.context_text import entry_mismatch
from kb.render.declining import what_was_read
from kb.render.entry_text import badge, case_named
from kb.render.own_line import own_line_change
from kb.render.prose import plain, sentence
from kb.render.strings import STRINGS
from kb.search.answer import Answer, Match
from kb.search.cause_choice import fitting_cause
from kb.search.lookup import lookup as answer_to
from kb.text.languages import Lang

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.documents.shapes import CaseDocument, EntryDocument
    from kb.index.reader import Index
    from kb.search.cause_choice import CauseChoice

__all__ = ["server"]

_LONGEST = 1 << 20

_MAX_TENSORS = 20

_CHOOSE = (
    "The nearest by their words, one of which may answer: compare each with what was asked, and read with `show` what could fit. "
    "If none does, kb has no entry for it:"
)

_CANDIDATES = 10
"""The entries of which an assistant gets the answers, to choose by reading: what words find is often there and not first."""


class Tensor(BaseModel):
    """A tensor at the failing line, as the program prints it, or something else that the line works on."""

    name: str = Field(description="as the program writes it, such as self.weight", max_length=200)
    kind: Literal["tensor", "array", "sequence", "module", "layer"] = Field(
        default="tensor",
        description="what it is: an array of NumPy, a list or tuple of tensors, a module, or a layer, which is a module with a weight of its own",
    )
    shape: list[int] | None = Field(default=None, description="such as [4, 3, 32, 32]", max_length=64)
    dtype: str = Field(default="", description="such as float32; of a module, of its parameters", max_length=40)
    device: str = Field(default="", description="such as cuda:0", max_length=40)
    requires_grad: bool = Field(default=False, description="whether it requires a gradient")


_LANGUAGE = Field(description="language of the prose: English or Chinese")

server = MCPServer(
    "kb",
    version=__version__,
    instructions=(
        "PyTorch errors and pitfalls, each with a cause, a program that fails and one that works, both run in a sandbox. "
        "Give lookup the whole traceback, or describe a strange result; show prints an entry with all its cases."
    ),
    log_level="WARNING",
)
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


@server.tool(annotations=_READS, structured_output=False)
def lookup(
    text: Annotated[
        str,
        Field(description="a traceback, an error message, or a question on PyTorch", min_length=1, max_length=_LONGEST),
    ],
    language: Annotated[Literal["en", "zh"] | None, _LANGUAGE] = None,
    tensors: Annotated[
        list[Tensor] | None,
        Field(
            description="the tensors and modules of the failing expression, if they are known", max_length=_MAX_TENSORS
        ),
    ] = None,
) -> str:
    """Find the cause and a proven fix of a PyTorch error, warning or silently wrong result.

    Returns how sure the match is (exact or likely) and why, what to do, the causes with their changes, how to tell them apart, and a failing
    and a working program.
    With the tensors and modules of the failing expression it says which one does not fit, and it can show more changes on the program's own line,
    which it does only where they are certain.
    A program that runs under `python -m kb` prints its tensors below the traceback by itself.
    Where it is not sure, it lists the nearest entries with their answers, to choose from by reading; none of them may fit.
    Errors about names, arguments and versions also get what the released packages say: since when and until when a name exists, and what to install.
    """
    index = open_index()
    answer = answer_to(text, lang=language, limit=_CANDIDATES, index=index)
    others = [_candidate(index, match, answer.lang) for match in answer.matches[int(answer.answered) :]]
    if not answer.answered:
        return "\n".join(
            [
                "No entry is known to answer this." if others else "There is no entry for this error.",
                *_record(answer),
                what_was_read(answer),
                *(
                    [f"{STRINGS[answer.lang]['next']}: {answer.understood.next_step[answer.lang]}"]
                    if answer.understood
                    else []
                ),
                *(["", _CHOOSE, *others] * bool(others)),
            ]
        )
    document = index.document(answer.matches[0].id)
    choice = fitting_cause(answer, document, text)
    case = case_named(document, choice.case) if choice.case else None
    lines = [
        *_why(answer),
        *_in_program(answer, document, choice, _context(answer, tensors) if tensors else None),
        *_record(answer),
        *_fits(document, choice, answer.lang),
        "",
        *_entry(document, answer.lang, [case] if case else []),
    ]
    if len(document["cases"]) > 1:
        lines += ["", f"`show` prints {len(document['cases']) - 1} more cases of `{document['id']}`."]
    if others:
        lines += ["", "If the case is another, one of these may answer it; `show` prints it:", *others]
    return "\n".join(lines)


@server.tool(annotations=_READS, structured_output=False)
def show(
    slug: Annotated[str, Field(description="the entry's name, as lookup gives it")],
    language: Annotated[Literal["en", "zh"], _LANGUAGE] = "en",
) -> str:
    """Print one entry: what to do, the causes with their changes, messages, and every case's failing and working program, with where they were verified."""
    index = open_index()
    try:
        document = index.document(slug)
    except KeyError:
        near = get_close_matches(slug, index.slugs(), 3, 0.4)
        raise ToolError(f"there is no entry {slug!r}" + (f"; near it: {', '.join(near)}" if near else "")) from None
    messages = [f"- `{message}`" for message in document["messages"]]
    related = [f"- `{other['id']}`: {other['title'][language]}" for other in document["related"]]
    return "\n".join(
        [
            *_entry(document, language, document["cases"]),
            *(["", f"## {STRINGS[language]['messages']}", "", *messages] if messages else []),
            *(["", f"## {STRINGS[language]['related']}", "", *related] if related else []),
        ]
    )


def _candidate(index: Index, match: Match, lang: Lang) -> str:
    return f"- `{match.id}`: {match.title[lang]}. {index.document(match.id)['answer'][lang]}"


def _why(answer: Answer) -> Iterator[str]:
    """Yield how sure the first match is, what it stands on, and where in the reader's own code to look."""
    first = answer.matches[0]
    yield f"{first.confidence} match: `{first.id}`"
    if first.evidence.line_number:
        yield f"Line {first.evidence.line_number}: `{first.evidence.line.strip()[:500]}`"
    if first.evidence.explain:
        yield first.evidence.explain[answer.lang]
    if frame := next((error.frame for error in answer.errors if error.frame), None):
        yield f"Look first at {frame.file}:{frame.line}: `{frame.code}`"


def _in_program(
    answer: Answer, document: EntryDocument, choice: CauseChoice, context: CrashContext | None
) -> Iterator[str]:
    """Yield which of the tensors does not fit, and the change of the line at which the program failed."""
    if mismatch := entry_mismatch(document, context):
        yield mismatch.sentence[answer.lang]
    if change := own_line_change(answer, document, choice, context):
        yield from (f"{change.file}:{change.line}", "", "```diff", *change.diff, "```")


def _context(answer: Answer, tensors: list[Tensor]) -> CrashContext:
    """Return the tensors as what the failing line of the traceback had in its hands."""
    pasted = next((error for error in answer.errors if error.frame), None)
    code = pasted.frame.code if pasted and pasted.frame else ""
    message = answer.errors[0].message if answer.errors else ""
    return CrashContext(Expression("", 0, (code,), 0, len(code)), tuple(map(_operand, tensors)), message=message)


def _operand(given: Tensor) -> Operand:
    return Operand(
        given.name,
        "module" if given.kind == "layer" else given.kind,
        "Tensor" if given.kind == "tensor" else "",
        shape=None if given.shape is None else tuple(given.shape),
        dtype=given.dtype.removeprefix("torch."),
        device=given.device,
        requires_grad=given.requires_grad,
        has_weight=given.kind == "layer",
    )


def _record(answer: Answer) -> Iterator[str]:
    """Yield what the released packages say, called what it is."""
    if answer.record is not None:
        words = STRINGS[answer.lang]
        yield from ("", words["record"] + words["record_note"] + words["colon"] + answer.record.text(answer.lang))
        if answer.record.address:
            yield answer.record.address


def _fits(document: EntryDocument, choice: CauseChoice, lang: Lang) -> Iterator[str]:
    """Yield which cause fits what was asked and its change, where that can be told."""
    if choice.clue:
        words, item = STRINGS[lang], document["items"][lang][choice.item]
        reason = words["frame" if choice.in_frame else "paste"].format(choice.clue)
        yield f"Cause {choice.item + 1} fits ({reason}): {plain(item['cause'] + words['colon'] + item['change'])}"


def _entry(document: EntryDocument, lang: Lang, cases: list[CaseDocument]) -> Iterator[str]:
    words = STRINGS[lang]
    yield f"# {document['title'][lang]}"
    yield from ("", document["answer"][lang])
    yield from ("", f"## {words['change']}", "")
    for number, item in enumerate(document["items"][lang], 1):
        shown = ", ".join(f"`{name}`" for name in item["cases"])
        yield f"{number}. **{item['cause']}**: {sentence(item['change'])}{f' ({shown})' if shown else ''}"
    for part in ("how_to_tell", "why"):
        if text := document[part][lang]:
            yield from ("", f"## {words[part]}", "", text)
    for check in document["checks"]:
        yield from (
            "",
            f"## {check['name']} ({badge(check, lang)})",
            "",
            "```python check",
            check["program"].rstrip(),
            "```",
        )
        if check["printed"]:
            yield from ("", "```text", check["printed"].rstrip(), "```")
    for case in cases:
        yield from ("", f"## {case['name']} ({badge(case, lang)})")
        for role in ("repro", "fix"):
            yield from ("", f"```python {role}", case[role].rstrip(), "```")
