"""Say why a message matched: the line of the paste, and what the template's placeholders stand for, as it was printed."""

from __future__ import annotations

from kb.index.reader import Index
from kb.index.template_index import TemplateHit
from kb.search.answer import Evidence
from kb.search.message_matching import MessageMatch
from kb.search.reading import Reading
from kb.templates.matcher import Placeholder
from kb.text.lexer import numbers

__all__ = ["evidence", "fill_explain"]

_MAX_VALUE = 200
"""The longest value that is shown, in characters."""

_OPENING = {")": "(", "]": "[", "}": "{"}
_QUOTES = ("'", '"', "`")


def evidence(index: Index, reading: Reading, match: MessageMatch) -> Evidence:
    """Return the line of the paste that matched, the template, and what its placeholders stand for."""
    hit = match.hit
    begin = reading.tokens[hit.start].start
    line_number = reading.text.line(begin)
    values = _values(reading, hit)
    lines = index.messages(match.slug)["explanations"].get(hit.template.source, {})
    explain = {lang: fill_explain(line, values) for lang, line in lines.items()}
    filled = {str(lang): line for lang, line in explain.items() if line is not None}
    return Evidence(
        line=_shorten(reading.pasted.split("\n")[line_number - 1].strip(), reading.text.text[begin : begin + 20]),
        line_number=line_number,
        template=hit.template.source,
        values=values,
        explain=filled if filled and len(filled) == len(explain) else None,
        is_whole=match.confidence == "exact" and not reading.is_corrected,
    )


def _values(reading: Reading, hit: TemplateHit) -> dict[str, str]:
    """Return what the placeholders stand for, open ones as printed; one at an end of the template stands for the rest of the error's line."""
    text, tokens = reading.text.text, reading.tokens
    spans = {name: (tokens[first].start, tokens[after - 1].end) for name, (first, after) in hit.alignment.spans.items()}
    if hit.alignment.whole and not hit.template.is_tail:
        first, last = tokens[hit.start].start, tokens[hit.end - 1].end
        rank = reading.error_rank(first, last)
        line = text.rfind("\n", 0, first) + 1
        begin = max(line, reading.errors[rank].message_start) if rank < len(reading.errors) else line
        end = text.find("\n", last) % (len(text) + 1)
        before, after = hit.template.open_ends
        spans |= {name: span for name, span in ((before, (begin, first)), (after, (last, end))) if name}
    printed = {name: _bare(text, *span) for name, span in spans.items()}
    begin, end = tokens[hit.start].start, tokens[hit.end - 1].end
    paths = {piece.name for piece in hit.template.pieces if isinstance(piece, Placeholder) and piece.type == "path"}
    values = hit.alignment.values
    whole = {name: _whole_path(values[name], text, begin, end) for name in paths & values.keys()}
    return values | whole | {name: value for name, value in printed.items() if value}


def _whole_path(value: str, text: str, begin: int, end: int) -> str:
    """Return a path between `begin` and `end` in the text with what its token lacks, without a full stop.

    That is dots and words before its first slash or hyphen, and what follows the first folder of a short path such as `out/run`.
    """
    start = text.rfind(value, begin, end)
    if start < 0:
        return value
    after = start + len(value)
    while start and text[start - 1].isascii() and (text[start - 1].isalnum() or text[start - 1] in "._-~"):
        start -= 1
    if text[after : after + 1] in ("/", "\\"):
        while after < len(text) and text[after].isascii() and (text[after].isalnum() or text[after] in "._-~/\\"):
            after += 1
    return text[start:after].rstrip(".")


def _bare(text: str, begin: int, end: int) -> str:
    """Return a part of the text in one line, at most `_MAX_VALUE` characters, with what opens in it closed, and without quotes and brackets around it."""
    end = min(end, begin + 4 * _MAX_VALUE)
    while _is_open(text[begin:end], text[end : end + 1]):
        end += 1
    is_quoted = text[begin - 1 : begin] == text[end : end + 1] and text[end : end + 1] in _QUOTES
    value = " ".join(text[begin:end].split()).lstrip(" ,;:=").rstrip(" ,;:.")
    value = f"{text[end]}{value}{text[end]}" if is_quoted else value
    for closing, opening in _OPENING.items():
        ends = [at for at, sign in enumerate(value) if sign == closing and not _is_open(value[: at + 1], closing)]
        if value.startswith(opening):
            value = value[1 : ends[0] if ends else None]
        elif ends and value.count(closing) > value.count(opening):
            value = value[: ends[-1]]
    last = value[-1:]
    if last in _QUOTES and (value[0] == last or value.count(last) % 2):
        value = value.replace(last, "")
    return value if len(value) <= _MAX_VALUE else value[:_MAX_VALUE] + "…"


def _is_open(text: str, closing: str) -> bool:
    """Tell whether a bracket or quote of the text is closed by the sign that follows it."""
    if closing in _QUOTES:
        return bool(text.count(closing) % 2)
    return closing in _OPENING and text.count(_OPENING[closing]) > text.count(closing)


def fill_explain(line: str, values: dict[str, str]) -> str | None:
    """Return an explain line with the captured values in it: `{input}` as printed, `{input[1]}` its second number.

    None if a name was not captured or has no such number.
    """
    parts, rest = [], line
    while rest:
        before, brace, rest = rest.partition("{")
        parts.append(before)
        if not brace:
            break
        expression, _, rest = rest.partition("}")
        name, bracket, index = expression.partition("[")
        if name not in values:
            return None
        value = values[name]
        if bracket:
            in_value, position = numbers(value), index.rstrip("]")
            if not position.lstrip("-").isdigit() or not -len(in_value) <= int(position) < len(in_value):
                return None
            value = str(in_value[int(position)])
        parts.append(value)
    return "".join(parts)


def _shorten(line: str, words: str) -> str:
    """Return a line; of one that is too long to read, the part around these words."""
    at = line.find(words)
    return line[:500] if len(line) <= 500 or at < 300 else "… " + line[at - 100 : at + 398]
