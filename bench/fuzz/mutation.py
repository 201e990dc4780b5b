"""Make hostile inputs: mutations of valid ones, with the tokens of their format, and tokens repeated until a parser runs out of something."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

__all__ = ["JSON", "LONGEST", "MARKDOWN", "PYTHON", "TEXT", "YAML", "mutate"]

LONGEST = 200_000
"""Bytes of an input: more than the largest entry that is read."""

# fmt: off
TEXT = [
    "\x00", "\x1b[31m", "\u202e", "\u2028", "\ufeff", "\u200b", "\n", "\r", "\r\n", "\t", " ", "\x85", "%0A", "##[error]", "::error::", "张量", "é", "İ",
    "\U0001f600", "9" * 5000, "a" * 3000, "-", "/", "..", "_",
]
_BROKEN = [b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf8", b"\xe5\xbc"]
"""Bytes that are no UTF-8."""

YAML = [
    "- ", ": ", "? ", "[", "]", "{", "}", ", ", "&a ", "*a", "!!int ", "!!python/object/apply:os.system ", "!x ", "|\n", ">\n", "2024-99-99", ".nan", ".inf",
    "2001-12-14t21:59:43.10-05:00", "0x1F", "1_000", "1:30", "<<: ", "=", "~", "yes", "null", "---\n", "...\n", "%YAML 1.1\n", "%TAG ! x:\n", '"\\ud800"',
    '"\\e[2J"', '"\\UFFFFFFFF"', "'", '"', "#", "\n  ", "\n- ", "title:", "kind: error\n", "messages:\n", "aliases:", "torch: ", '"<999999999.1"',
    "device: cuda\n", "related: [", "also: [x]\n", "answer:", "explain: {en: a, zh: b}\n", "requires: [", "TODO", "kind: symptom\n",
]
MARKDOWN = [
    "```", "~~~", "````", "`", "``", "# ", "## English\n", "## 中文\n", "### 原因\n", "## Run it\n", "### What to change\n", "### 怎么判断\n",
    "### first\n", "### shapes\n", "- **a**: b. [first](#first)\n", "**", "：", "[a](b)", "[first](#first)", "(x.md)", "](", "[", "!",
    "```python repro\n", "```python fix\n", "```python check\n", "```python repro a b\n", " device=cuda", " os=windows", " gpus=9", " shm=999999g",
    " timeout=999", " fresh=true", " memory=0k", "<script>", "&lt;", "|", "> ", "1. ",
]
PYTHON = [
    "(", ")", "[", "{", "lambda:", "not ", "-", "~", "**", "a.b", "a[", "if x:\n ", "for x in y:\n ", "f'{", "'''", "\\\n", "\n\t", "assert ", "import x\n",
    "raise ", "await ", "yield ", "return 1\n", "async def f(): ", "class A: ", "@a\n", "match x:\n case ", "1 if 1 else ", "sys.exit(0)", "x=", "*a,",
    "warnings.simplefilter('ignore')", "'\\d'", "# coding: rot13\n", "1e999", "0x", "a+", "a and ", "a if ",
]
JSON = [
    "[", "]", "{", "}", ":", ",", '"', "null", "true", "NaN", "Infinity", "-Infinity", "1e999", "-1", "0.5", '"\\ud800"', '"\\u0000"', '"torch"', '"device"',
    '"cases"', '"hash"', '"outcome"', '"printed"', '"seconds"', '"date"', '"passed"', '"2.13.0.dev1+cpu"', '"x/y"',
]
# fmt: on


def mutate(data: bytes, tokens: Sequence[str], random: Random) -> bytes:
    """Return the data after a few changes, at most `LONGEST` bytes."""
    dictionary = [token.encode("utf-8", "surrogatepass") for token in (*tokens, *TEXT)] + _BROKEN
    for _ in range(random.choice((1, 1, 2, 3, 5, 12))):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + int(random.paretovariate(0.5)))
        head, middle, tail = data[:start], data[start:end], data[end:]
        token = random.choice(dictionary)
        match random.randrange(9):
            case 0:
                middle = b""
            case 1:
                middle = token
            case 2:
                middle += token
            case 3:
                middle = _repeated(middle, random)
            case 4:
                middle = _repeated(token, random)
            case 5:
                middle = _repeated(token + random.choice(dictionary), random)
            case 6:
                middle = bytes(random.randrange(256) for _ in middle[:20])
            case 7:
                head, tail = (tail, head) if random.random() < 0.3 else (head, tail)
            case 8:
                lines = data.split(b"\n")
                random.shuffle(lines)
                head, middle, tail = b"", b"\n".join(lines), b""
        data = (head + middle + tail)[:LONGEST]
    return data


def _repeated(data: bytes, random: Random) -> bytes:
    """Return the data repeated: mostly a few times, sometimes thousands, and never far beyond `LONGEST` bytes."""
    return data * min(int(10 ** random.uniform(0, 4.5)), LONGEST // max(len(data), 1) + 1)
