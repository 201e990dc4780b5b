"""kb as a server of the Model Context Protocol: the tools `lookup` and `show` for coding assistants, by the protocol's official SDK.

Answers are Markdown in one language: an assistant reads programs best as fenced blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from kb import __version__
from kb.answer import Answer
from kb.answer import lookup as answer_to
from kb.entry_text import WORDS, badge, best_case
from kb.index import open_index

__all__ = ["server"]

_LONGEST = 1 << 20

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
) -> str:
    """Find the cause and a proven fix of a PyTorch error, warning or silently wrong result.

    Returns how sure the match is (exact or likely) and why, the cause, the fix in words, and a failing and a working program.
    Says so when there is no entry; what is then listed as related answers something else.
    """
    index = open_index()
    answer = answer_to(text, lang=language, index=index)
    others = [f"- `{match.id}`: {match.title[answer.lang]}" for match in answer.matches[int(answer.answered) :]]
    if not answer.answered:
        return "\n".join(
            ["There is no entry for this error.", *(["", "Related, but no answer:", *others] * bool(others))]
        )
    card = index.card(answer.matches[0].id)
    shown = best_case(card, text)
    lines = [*_why(answer), "", *_entry(card, answer.lang, [shown])]
    if len(card["cases"]) > 1:
        lines += ["", f"`show` prints {len(card['cases']) - 1} more cases of `{card['id']}`."]
    if others:
        lines += ["", "Also possible:", *others]
    return "\n".join(lines)


@server.tool(annotations=_READS, structured_output=False)
def show(
    slug: Annotated[str, Field(description="the entry's name, as lookup gives it")],
    language: Annotated[Literal["en", "zh"], _LANGUAGE] = "en",
) -> str:
    """Print one entry: messages, cause, fix, and every case's failing and working program, with where they were verified."""
    index = open_index()
    try:
        card = index.card(slug)
    except KeyError:
        near = get_close_matches(slug, index.slugs(), 3, 0.4)
        raise ToolError(f"there is no entry {slug!r}" + (f"; near it: {', '.join(near)}" if near else "")) from None
    messages = [f"- `{message}`" for message in card["messages"]]
    related = [f"- `{other['id']}`: {other['title'][language]}" for other in card["related"]]
    return "\n".join(
        [
            *_entry(card, language, card["cases"]),
            *(["", f"## {WORDS[language]['messages']}", "", *messages] if messages else []),
            *(["", f"## {WORDS[language]['related']}", "", *related] if related else []),
        ]
    )


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


def _entry(card: dict[str, Any], lang: str, cases: list[dict[str, Any]]) -> Iterator[str]:
    words = WORDS[lang]
    yield f"# {card['title'][lang]}"
    for part in ("why", "fix"):
        yield from ("", f"## {words[part]}", "", card[part][lang].strip())
    for case in cases:
        yield from ("", f"## {case['name'] or words['change']} ({badge(case, lang)})")
        for role in ("repro", "fix"):
            yield from ("", f"```python {role}", case[role].rstrip(), "```")
