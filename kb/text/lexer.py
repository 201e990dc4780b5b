"""Cut error messages into typed tokens, in the same way for templates and for pasted text.

Punctuation, quotation marks, case and white space are dropped, so that a message that was wrapped or retyped gives the same tokens. A value that
varies between readers of the same message (a number, size, dtype, device, path or address) becomes one token with a type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple
from kb.text.scripts import is_cjk

__all__ = ["Token", "lex", "lower", "numbers"]


class Token(NamedTuple):
    """One token: its folded text, its type, its offset in the text that was lexed, and its raw form there."""

    text: str
    type: str
    start: int
    raw: str

    @property
    def end(self) -> int:
        """The offset after the token."""
        return self.start + len(self.raw)


# The text is lower-cased first, words get their type from a dictionary, and what few pastes hold is read by patterns of its own where a word or a number
# announces it, because each alternative of the scan has to be compiled for every look-up.
# Every repetition is possessive, atomic or of bounded length, so that no input can make the scan backtrack. A repeated group is atomic, `(?>(?:…)*)`, and not
# possessive, `(?:…)*+`: Python before 3.11.5 keeps what a possessive group read before it failed (python/cpython#106052).
_INTS = r"-?+(?:\d++|\*)(?>(?:\s*+[,x]\s*+-?+(?:\d++|\*))*),?+\s*+"
_SCAN = lazy_pattern(
    rf"(?P<shape>(?:(?P<bracket>\[)|\((?!\s*+\)))\s*+(?>(?:{_INTS})?)(?(bracket)\]|\)))"
    rf"|(?P<drive>[a-z]:[\\/][^\s'\"<>|*?;,()]{{1,400}}+)"
    rf"|(?P<word>[a-z_]\w*+(?>(?:(?:\.|::)\w++)*)(?>(?:[\\/](?:[\w+-][\w.+-]*+|\.\.))*))"
    r"|0x(?P<address>[0-9a-f]++)"
    r"|(?P<by>(?<![\w.])\d++(?>(?:x\d++)+)(?!\w))"
    r"|(?P<num>(?:(?<![\w.)\]])[-+])?\d++(?>(?:\.\d++)?)(?>(?:e[-+]?+\d++)?))"
    r"|(?P<path>~?+(?>(?:/[\w.@+~%-]{1,200}+){2,40}))"
    r"|(?P<repr><(?:class|function|module|method|bound method|built-in \w{1,40}+)\s[^<>\n]{1,300}+>)"
    r"|(?P<foreign>[^\x00-\x7f]++)",
    re.ASCII,
)
_TORCH_SIZE = lazy_pattern(rf"(?P<shape>torch\.size\(\s*+\[(?>(?:\s*+{_INTS})?)\]\s*+\))", re.ASCII)
_C_TYPES = frozenset(("unsigned", "signed", "long", "short"))
_C_TYPE = lazy_pattern(r"(?P<dtype>(?:unsigned|signed|long|short) (?:char|int|long|short)(?!\w))", re.ASCII)
_AFTER_NUMBER = frozenset(".kmgtb")
"""How what makes a number longer goes on: a further part of a version or name, or a unit."""
_LONGER_NUMBER = lazy_pattern(
    r"(?P<size>(?<![\w.])\d++(?>(?:\.\d++)?)\s?+(?:[kmgt]i?b|bytes?)(?!\w))"
    r"|(?P<version>(?<![\w.])\d++\.\d++\.\d++(?>(?:[.+]*+\w++)*))"
    r"|(?P<key>(?<![\w.])\d++(?>(?:\.\d++)*)\.[a-z_]\w*+(?>(?:\.\w++)*))",
    re.ASCII,
)
_DTYPES = frozenset(
    "float double half long int short char byte bool bfloat16 float16 float32 float64 complex64 "
    "complex128 uint8 uint16 uint32 uint64 int8 int16 int32 int64 complexfloat complexdouble complexhalf __int64".split()
)
_BACKENDS = ("cpu", "cuda", "mps", "xpu", "hip")
_DEVICES = frozenset(("cuda", "cpu", "mps", "xpu", "npu", "hpu", "meta"))
_SUFFIXES = frozenset(
    "py pyc cpp cc cu cuh h hpp so dll dylib pt pth pkl pickle ckpt safetensors npy npz bin tar zip onnx "
    "json yaml txt csv".split()
)
_RENAMED = {"drive": "path", "by": "shape", "key": "word"}
_PIECE = lazy_pattern(r"[^\\/]++")
_INDEX = lazy_pattern(r":\d++")
_QUOTED_IN_REPR = lazy_pattern(r"'([^']*+)'")
_INT = lazy_pattern(r"-?\d++|\*")


def lower(text: str) -> str:
    """Return the text in lower case at its old length: a character that has no lower case of one character stays."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := character.lower()) == 1 else character for character in text)


def lex(text: str) -> list[Token]:
    """Return the tokens of `text` in order; `start` is an offset into it."""
    lowered = lower(text)
    tokens: list[Token] = []
    end = 0
    while match := _SCAN.search(lowered, end):
        start, end = match.span()
        kind = match.lastgroup or "word"
        if longer := _longer_match(lowered, kind, start, end):
            end = longer.end()
            kind = longer.lastgroup or "word"
        folded = lowered[start:end]
        if kind == "word":
            kind = _slashed_type(folded) if "/" in folded or "\\" in folded else _word_type(folded)
            if kind in ("path", "device") and (index := _INDEX.match(lowered, end)):
                folded += index.group()
                end = index.end()
            if kind == "words":
                tokens += _slashed(text[start:end], start)
                continue
        elif kind == "path" and (index := _INDEX.match(lowered, end)):
            folded += index.group()
            end = index.end()
        elif kind == "repr":
            quoted = _QUOTED_IN_REPR.search(folded)
            folded, kind = quoted.group(1) if quoted else folded.strip("<>").split()[-1], "word"
        elif kind == "foreign":
            tokens += _foreign(lowered, text, start, end)
            continue
        else:
            kind = _RENAMED.get(kind, kind)
        tokens.append(Token(folded, kind, start, text[start:end]))
    return tokens


def _foreign(lowered: str, text: str, start: int, end: int) -> Iterator[Token]:
    """Yield the tokens of a run beyond ASCII: words of scripts without spaces, and other words. Their punctuation and full-width forms separate them."""
    while start < end:
        is_cjk_word = is_cjk(lowered[start])
        last = start
        while last < end and (is_cjk(lowered[last]) if is_cjk_word else not _separates(lowered[last])):
            last += 1
        if is_cjk_word or any(map(str.isalpha, lowered[start:last])):
            yield Token(lowered[start:last], "cjk" if is_cjk_word else "word", start, text[start:last])
        start = max(last, start + 1)


def _separates(character: str) -> bool:
    return "\u3000" <= character <= "\u303f" or "\uff00" <= character <= "\uff65"


def _longer_match(lowered: str, kind: str, start: int, end: int) -> re.Match[str] | None:
    """Return the match of what a word or number from `start` to `end` begins: a `torch.Size`, a type of C, a size in bytes, a version or a numbered name."""
    if kind == "word":
        if lowered.startswith("torch.size(", start):
            return _TORCH_SIZE.match(lowered, start)
        is_c_type = end - start <= 8 and lowered[start:end] in _C_TYPES
        return _C_TYPE.match(lowered, start) if is_c_type else None
    if kind == "num" and lowered[end : end + 2].lstrip()[:1] in _AFTER_NUMBER:
        return _LONGER_NUMBER.match(lowered, start)
    return None


def numbers(text: str) -> list[int]:
    """Return the whole numbers of a size as written: `torch.Size([1, 512])` and `1x512` give `[1, 512]`; a `*` counts as -1."""
    return [-1 if digits == "*" else int(digits[:18]) for digits in _INT.findall(text)]


def _word_type(word: str) -> str:
    """Return `word`, or `dtype`, `device` or `path` for a word that is one."""
    if word in _DTYPES:
        return "dtype"
    if word in _DEVICES:
        return "device"
    head, dot, last = word.rpartition(".")
    if dot:
        if word.startswith("torch.") and (last in _DTYPES or last.endswith("tensor") or last.startswith("float8_")):
            return "dtype"
        if last in _SUFFIXES and not head.startswith("torch."):
            return "path"
    elif word.startswith(("c10::", "at::", "float8_")) or _is_tensor_type(word):
        return "dtype"
    return "word"


def _is_tensor_type(word: str) -> bool:
    """Tell whether the word names a backend and a dtype as PyTorch's internals do: `CUDABFloat16Type`, `MPSHalfType`."""
    return word.endswith("type") and any(
        word.removeprefix(name)[:-4] in _DTYPES for name in _BACKENDS if word.startswith(name)
    )


def _slashed_type(run: str) -> str:
    return "path" if run.rpartition(".")[2] in _SUFFIXES else "words"


def _slashed(run: str, start: int) -> list[Token]:
    """Return the words of a run with slashes that is not a path, such as `input/output`."""
    tokens = []
    for piece in _PIECE.finditer(run):
        at = start + piece.start()
        tokens += [token._replace(start=token.start + at) for token in lex(piece.group())]
    return tokens
