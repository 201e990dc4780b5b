"""kb lookup: answer a pasted error or a question."""

from __future__ import annotations

import argparse
import json
import os
import sys

from kb.cli.common import Failure, Style, language, make_parser, ready_index
from kb.render.terminal import size
from kb.search.lookup import lookup
from kb.startup.lazy_regex import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

    from kb.index.reader import Index
    from kb.search.answer import Answer

_MAX_BYTES = 1 << 20
"""The longest text that is looked up, in bytes."""

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""The byte order marks of a log that PowerShell wrote."""

_PATH = lazy_pattern(r"(~|\.{0,2})/[^\s:]+|[^\s:]+\.(txt|log|out|err)")
"""A word that probably means a file. It is looked up all the same, because `torch.log` may be a function."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = make_parser(
        "lookup",
        "Answer a pasted error, or a question in English or Chinese.",
        "TEXT may be the error's words, a file that holds them, or - for standard input.\n"
        "With neither TEXT nor --batch, standard input is read: paste, then Ctrl-D.\n"
        "Exit status: 0 answered, 1 no entry, 2 usage.",
    )
    parser.add_argument("text", nargs="*", metavar="TEXT", help="the error's words, a file, or - for standard input")
    parser.add_argument(
        "--lang",
        choices=("en", "zh"),
        help="the language of the answer (default: KB_LANG, a Chinese locale, else the text's)",
    )
    parser.add_argument("-n", type=int, default=3, metavar="N", help="at most this many matches (default 3)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the answer as JSON")
    form.add_argument(
        "--format",
        choices=("text", "github"),
        default="text",
        help="github annotates the lines of a pull request at which the failures of a log arose",
    )
    form.add_argument(
        "--fix", action="store_true", help="print only the program that works, of the case that fits best"
    )
    form.add_argument(
        "--batch", metavar="FILE", help="answer each line of a JSON Lines file, an object with a text, as JSON"
    )
    return parser


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
    index = ready_index()
    if arguments.format == "github":
        return _annotate(text, lang, index)
    answer = lookup(text, lang=lang, limit=arguments.n, index=index)
    if arguments.json:
        print(_to_json(answer, index, text))
    elif not arguments.fix:
        _print_answer(answer, index, text)
    elif answer.answered:
        _print_fix(answer, index, text)
    else:
        print("kb lookup: there is no entry for this error, so no program", file=sys.stderr)
    return 0 if answer.answered else 1


def read_text(words: list[str]) -> str:
    """Return the text that TEXT means: standard input, a file's content, or the words themselves."""
    if words in ([], ["-"]) and sys.stdin is None:
        raise Failure("standard input is closed: give the error's words, or a file", 2)
    if words in ([], ["-"]) and sys.stdin.isatty():
        print("Paste the error, then press Ctrl-D.", file=sys.stderr)
    if words in ([], ["-"]):
        data = _end(sys.stdin.buffer)
        if sys.stdin.isatty() and not data.endswith(b"\n"):
            print(file=sys.stderr)
    elif len(words) == 1 and len(words[0]) < 4096 and "\n" not in words[0] and os.path.isfile(words[0]):  # noqa: PTH113 - no pathlib here: it costs milliseconds
        try:
            with open(words[0], "rb") as file:  # noqa: PTH123 - likewise
                data = _end(file)
        except OSError as error:
            raise Failure(f"{words[0]}: {error.strerror}", 2) from error
    else:
        if len(words) == 1 and _PATH.fullmatch(words[0]):
            print(f"{words[0]}: there is no such file; it is looked up as words", file=sys.stderr)
        data = " ".join(words).encode("utf-8", "surrogateescape")
    if not data.strip():
        raise Failure(
            'nothing to look up: give the error\'s words, as in kb lookup "view size is not compatible", or a file, or -',
            2,
        )
    return data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8", "replace")


def _end(stream: IO[bytes]) -> bytes:
    """Return the last `_MAX_BYTES` of a stream, after its byte order mark if it has one; in a longer log the error is at the end.

    A read that returns less met the end of the stream. It is not tried again, because at a terminal Ctrl-D would have to be pressed twice.
    """
    kept = part = stream.read(_MAX_BYTES)
    mark = kept[:2] if kept.startswith(_UTF_16) else b""
    while len(part) == _MAX_BYTES:
        part = stream.read(_MAX_BYTES)
        kept = (kept + part)[-_MAX_BYTES:]
    return kept if kept.startswith(mark) else mark + kept


def _batch(path: str, lang: Any, limit: int) -> int:
    """Answer a file's texts in order, one JSON object a line, in this one process."""
    index = ready_index()
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
                print(_to_json(lookup(text, lang=lang, limit=limit, index=index), index, text), flush=True)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", 2) from error
    except UnicodeDecodeError as error:
        raise Failure(f"{path}: it is not UTF-8", 2) from error
    return 0


def _annotate(log: str, lang: Any, index: Index) -> int:
    """Print an annotation for each failure of a log that an entry answers, each line and entry once; return 1 where there is none."""
    from kb.corpus.diagnostic import github_annotation
    from kb.render.annotations import annotation
    from kb.text.failures import failures

    printed: dict[tuple[str, int, str], str] = {}
    for text in failures(log):
        answer = lookup(text, lang=lang, limit=1, index=index)
        if answer.answered:
            document = index.document(answer.matches[0].id)
            file, line, title, what = annotation(answer, document, text)
            level: Any = "warning" if document["kind"] == "warning" else "error"
            printed.setdefault((file, line, title), github_annotation(level, file, line, f"kb: {title}", what))
    for command in printed.values():
        print(command)
    return 0 if printed else 1


def _print_fix(answer: Answer, index: Index, text: str) -> None:
    """Print the program that works, of the case that fits best; the names of that case and of the others go to standard error."""
    from kb.render.entry_text import case_named
    from kb.search.cause_choice import fitting_cause

    document = index.document(answer.matches[0].id)
    case = case_named(document, fitting_cause(answer, document, text).case)
    if case is None:
        print(f"kb lookup: {document['id']} has no program; kb show prints what it says", file=sys.stderr)
        return
    print(case["fix"], end="")
    rest = [listed["id"] for listed in document["cases"] if listed is not case]
    if rest:
        print(f"{case['id']}; kb show --fix prints the others: {', '.join(rest)}", file=sys.stderr)


def _to_json(answer: Answer, index: Index, text: str) -> str:
    """Return the answer as one line of JSON; each match has its entry's answer and items.

    `cause` says which item of the first fits, and `change` is that of the reader's own line; null where there is none.
    """
    from kb.render.own_line import own_line_change
    from kb.search.cause_choice import fitting_cause

    fields = answer.to_dict()
    for match in fields["matches"]:
        document = index.document(match["id"])
        match.update({"answer": document["answer"], "items": document["items"]})
    cause = change = None
    if answer.answered:
        document = index.document(answer.matches[0].id)
        choice = fitting_cause(answer, document, text)
        cause, change = choice.to_dict(), own_line_change(answer, document, choice)
    fields |= {"cause": cause, "change": change and change._asdict()}
    return json.dumps(fields, ensure_ascii=False)


def _print_answer(answer: Answer, index: Index, text: str) -> None:
    """Print the best match so that it fits the screen, the others by name."""
    from kb.render.answer_text import answer_lines, unanswered_lines

    limit, rows = size()
    if answer.answered:
        room = None if rows is None else rows - 1
        lines = answer_lines(answer, index.document(answer.matches[0].id), text, limit, room, Style())
    else:
        lines = unanswered_lines(answer, limit, Style(), index.document)
    print("\n".join(lines))
