"""kb lookup: answer a pasted error or a question."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from kb.answer import lookup
from kb.cli.common import BOLD, CYAN, DIM, GREEN, YELLOW, Failure, Style, language, make_parser, width
from kb.index import open_index

if TYPE_CHECKING:
    from kb.answer import Answer, Match
    from kb.index import Index

_MAX_BYTES = 1 << 20
_SAID = {
    "en": {
        "exact": "exact match",
        "likely": "likely match",
        "related": "related",
        "line": "line {0}",
        "look": "Look first at",
        "none": "kb has no entry for this error.",
        "near": "Related entries, none of which answers it:",
        "also": "Also possible:",
        "more": "Whole programs and links: kb show {0}",
    },
    "zh": {
        "exact": "完全匹配",
        "likely": "很可能是",
        "related": "相关",
        "line": "第 {0} 行",
        "look": "先看这里：",
        "none": "kb 没有收录这个报错。",
        "near": "下面的条目相关，但都不是答案：",
        "also": "也可能是：",
        "more": "完整程序和链接：kb show {0}",
    },
}


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    found = make_parser(
        "lookup",
        "Answer a pasted error, or a question in English or Chinese.",
        "TEXT may be the error's words, a file that holds them, or - for standard input.\n"
        "With neither TEXT nor --batch, standard input is read: paste, then Ctrl-D.\n"
        "Exit status: 0 answered, 1 no entry, 2 usage.",
    )
    found.add_argument("text", nargs="*", metavar="TEXT", help="the error's words, a file, or - for standard input")
    found.add_argument(
        "--lang", choices=("en", "zh"), help="the language of the answer (default: KB_LANG, else the text's)"
    )
    found.add_argument("-n", type=int, default=3, metavar="N", help="at most this many matches (default 3)")
    form = found.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the answer as JSON")
    form.add_argument("--fix", action="store_true", help="print only the program that works")
    form.add_argument(
        "--batch", metavar="FILE", help="answer each line of a JSON Lines file, an object with a text, as JSON"
    )
    return found


def run(arguments: argparse.Namespace) -> int:
    """Answer; return 0 when there is an answer and 1 when there is none."""
    lang: Any = language(arguments.lang)
    if arguments.n < 1:
        raise Failure("-n takes a number from 1 on", 2)
    if arguments.batch:
        if arguments.text:
            raise Failure("--batch reads its texts from the file; leave TEXT out", 2)
        return _batch(arguments.batch, lang, arguments.n)
    text = read_text(arguments.text)
    index = open_index()
    answer = lookup(text, lang=lang, limit=arguments.n, index=index)
    if arguments.json:
        print(json.dumps(answer.to_dict(), ensure_ascii=False))
    elif arguments.fix and answer.answered:
        print(index.card(answer.matches[0].id)["cases"][0]["fix"], end="")
    else:
        for line in _lines(answer, index, Style()):
            print(line)
    return 0 if answer.answered else 1


def read_text(words: list[str]) -> str:
    """Return the text that TEXT means: standard input, a file's content, or the words themselves."""
    if not words and sys.stdin.isatty():
        print("Paste the error, then press Ctrl-D.", file=sys.stderr)
    if words in ([], ["-"]):
        data = sys.stdin.buffer.read(_MAX_BYTES + 1)
    elif len(words) == 1 and len(words[0]) < 4096 and "\n" not in words[0] and os.path.isfile(words[0]):  # noqa: PTH113 - no pathlib here: it costs milliseconds
        with open(words[0], "rb") as file:  # noqa: PTH123 - likewise
            data = file.read(_MAX_BYTES + 1)
    else:
        data = " ".join(words).encode("utf-8", "surrogateescape")
    if not data.strip():
        raise Failure(
            'nothing to look up: give the error\'s words, as in kb lookup "view size is not compatible", or a file, or -',
            2,
        )
    return data[-_MAX_BYTES:].decode("utf-8", "replace")


def _batch(path: str, lang: Any, limit: int) -> int:
    """Answer a file's texts in order, one JSON object a line, in this one process."""
    index = open_index()
    try:
        with sys.stdin if path == "-" else open(path, encoding="utf-8") as file:  # noqa: PTH123
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    text = json.loads(line)["text"]
                    if not isinstance(text, str):
                        raise TypeError
                except (ValueError, KeyError, TypeError):
                    raise Failure(f'{path}:{number}: no JSON object with a "text"', 2) from None
                print(
                    json.dumps(lookup(text, lang=lang, limit=limit, index=index).to_dict(), ensure_ascii=False),
                    flush=True,
                )
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", 2) from error
    return 0


def _lines(answer: Answer, index: Index, style: Style) -> list[str]:
    """The answer for a person: best match in full, the others by title."""
    from kb.cli.page import entry_lines, wrap

    lang, limit = answer.lang, width()
    words = _SAID[lang]
    lines: list[str] = []
    others = list(answer.matches)
    if answer.answered:
        first = others.pop(0)
        card = index.card(first.id)
        lines += [
            style(first.title[lang], BOLD),
            _how(first, words, style),
            *_evidence(first, answer, words, style, limit),
            "",
        ]
        lines += entry_lines(card, lang, limit, style)
        lines.append(style(words["more"].format(first.id), DIM))
    else:
        lines.append(style(words["none"], BOLD))
        others = others[:3]
    if others:
        lines += ["", words["also"] if answer.answered else words["near"]]
        lines += [line for match in others for line in wrap(f"{match.id}: {match.title[lang]}", limit, "  ", "    ")]
    return lines


def _how(match: Match, words: dict[str, str], style: Style) -> str:
    return (
        style(words[match.confidence], GREEN if match.confidence == "exact" else YELLOW) + "  " + style(match.id, DIM)
    )


def _evidence(match: Match, answer: Answer, words: dict[str, str], style: Style, limit: int) -> list[str]:
    """Which line of the paste matched, what its numbers mean, and where in the reader's own code to look."""
    lines = []
    if match.evidence.line_number:
        shown = " ".join(match.evidence.line.split())
        shown = shown if len(shown) <= 3 * limit else shown[: 3 * limit] + " …"
        lines.append(f"{words['line'].format(match.evidence.line_number)}: {style(shown, CYAN)}")
    if match.evidence.explain:
        lines.append(match.evidence.explain[answer.lang])
    frame = next((error.frame for error in answer.errors if error.frame), None)
    if frame:
        lines.append(
            f"{words['look']} {frame.file}:{frame.line}" + (f"  {style(frame.code, CYAN)}" if frame.code else "")
        )
    return lines
