"""Which package prints a message, in which function, under which condition, since and until which release."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kb.record.message_index import MAX_RUN, anchor_hash, open_message_index
from kb.record.packages import PACKAGES
from kb.record.query import PackageRecord, open_record
from kb.record.ranges import VersionRange, version_ranges
from kb.record.rows import MessageRow, parse_message, with_slots
from kb.startup.named_tuple import NamedTuple
from kb.templates.matcher import Placeholder, align
from kb.templates.template import TemplateError, compile_template
from kb.text.lexer import Token, lex

__all__ = [
    "MessageOrigin",
    "likely_origin",
    "packages_printing",
    "pieces_of",
    "provenance",
    "sample_message",
    "source_address",
    "versions_printing",
]

_MAX_TOKENS, _MAX_CANDIDATES, _MAX_CHARACTERS = 96, 32, 1_500
_MIN_WORDS = 3
"""How many words of its own a message needs to count as recognised; one that matches from end to end may have fewer."""


class MessageOrigin(NamedTuple):
    """A place in a package that prints a message.

    `function` is `module.function`, empty for a compiled library, whose name is then `library`. `type` is the exception or warning, `log` for a
    logger. `ranges` are the releases that have it, `releases` are the same as bits. `words` counts the words of the message that are the template's own.
    """

    package: str
    template: str
    type: str
    function: str
    library: str
    condition: str
    ranges: tuple[VersionRange, ...]
    address: str
    words: int
    releases: int


def provenance(message: str, error_type: str = "") -> tuple[MessageOrigin, ...]:
    """Return where a message comes from, the place that shares most words with it first; empty if no release of the record prints it.

    A type that is given must be the type of the place, unless that is a subclass of it that the record cannot see.
    """
    origins = [_origin(place) for place in _places(message)]
    last = _exception_name(error_type)
    origins.sort(
        key=lambda origin: (
            -origin.words,
            bool(last) and origin.type not in ("", last),
            -origin.releases.bit_count(),
            origin.package,
            origin.function,
        )
    )
    return tuple(dict.fromkeys(origins))


def packages_printing(message: str, error_type: str = "") -> dict[str, tuple[VersionRange, ...]]:
    """Return, by package, the releases that print a message; empty if the record knows of none.

    For errors of real posts it takes 0.1 ms at the median and 0.7 ms at the 90th percentile, a few more where a part of the record is read for the first
    time. The first call of a process also reads the index of messages, which takes some 20 ms with the import.

    A message is PyTorch's own only if `torch` is among them. That it is not proves little where the message may come from CUDA or from C++ that pieces it
    together.
    """
    last = _exception_name(error_type)
    places = [place for place in _places(message) if _is_plausible(place, last)]
    longest: dict[str, int] = {}
    for place in places:
        longest[place.record.package.name] = max(longest.get(place.record.package.name, 0), place.words)
    masks: dict[str, int] = {}
    for place in places:
        name = place.record.package.name
        if place.words == longest[name]:
            masks[name] = masks.get(name, 0) | place.row.mask
    return {
        name: version_ranges(mask, place_record.lines)
        for name, mask in masks.items()
        if (place_record := open_record(name))
    }


def likely_origin(message: str, error_type: str, text: str) -> MessageOrigin | None:
    """Return where a message most likely comes from, with the releases of all places of that package that print it; None where that is doubtful.

    `text` is what was pasted with it. A package other than torch counts if the text names it or if the message is long.
    """
    last = _exception_name(error_type)
    origins = [
        origin
        for origin in provenance(message, error_type)
        if _is_plausible(origin, last) and (origin.package == "torch" or _names_package(text, origin))
    ]
    if not origins:
        return None
    best = origins[0]
    if best.function.startswith(
        "torch._"
    ):  # a Python twin of a compiled operator, whose text is cut at the first number
        best = next((origin for origin in origins if origin.library and origin.words >= _MIN_OPERATOR_WORDS), best)
    same = [
        origin
        for origin in origins
        if origin.package == best.package
        and bool(origin.library) == bool(best.library)
        and origin.words >= best.words - bool(best.library)
    ]
    releases = 0
    for origin in same:
        releases |= origin.releases
    if any(origin.package != best.package and origin.words == best.words for origin in origins) and not _names_package(
        text, best
    ):
        return None
    newest = max(same, key=lambda origin: (origin.releases.bit_length(), origin.words))
    record = open_record(best.package)
    assert record is not None
    return newest._replace(ranges=record.ranges(releases), releases=releases)


def _exception_name(error_type: str) -> str:
    """Return the last part of a type's name, with the alias of an exception that has several."""
    last = error_type.rpartition(".")[2]
    return "OSError" if last in ("EnvironmentError", "IOError") else last


def _is_plausible(origin: MessageOrigin | _Place, error_type: str) -> bool:
    """Return whether a place may have raised an exception of that type. Python raises many with words that libraries have too."""
    if not origin.library:
        enough = origin.words > _MIN_WORDS or "{" not in origin.template
        if error_type in _PYTHONS_OWN_ERRORS:
            enough = origin.words >= _MIN_SHARED_WORDS
        return enough and (not error_type or _exception_name(origin.type) == error_type)
    if error_type in _OPERATOR_ERRORS or error_type.endswith("Warning"):
        return origin.words > _MIN_WORDS
    return error_type in _SHARED_ERRORS and origin.words >= _MIN_SHARED_WORDS


def _names_package(text: str, origin: MessageOrigin) -> bool:
    known = PACKAGES[origin.package]
    return origin.words >= _MIN_SHARED_WORDS or any(name in text for name in (origin.package, *known.modules))


_OPERATOR_ERRORS = ("RuntimeError", "NotImplementedError", "OutOfMemoryError", "AcceleratorError", "LinAlgError")
"""Exceptions that compiled code raises and that Python itself hardly does."""

_SHARED_ERRORS = ("IndexError", "ValueError", "TypeError", "")
"""Exceptions that both raise."""

_PYTHONS_OWN_ERRORS = ("NameError", "UnboundLocalError", "AttributeError", "RecursionError", "ZeroDivisionError")
"""Exceptions whose short messages are Python's own, even where a library prints the same: `name 'x' is not defined`."""

_MIN_OPERATOR_WORDS, _MIN_SHARED_WORDS = 6, 8


def versions_printing(template: str) -> dict[str, tuple[VersionRange, ...]]:
    """Return, by package, the releases that print a wording which an entry gives as a template.

    A message of a compiled library is pieced together from several texts: a release prints it if it has every text of it that some release has.
    """
    sample = sample_message(template)
    masks: dict[str, int] = {}
    pieces: dict[str, int] = {}
    longest: dict[str, int] = {}
    for place in _places(sample):
        record, name = place.record, place.record.package.name
        if place.library:
            pieces[name] = pieces.get(name, record.all) & place.row.mask
        elif place.words >= longest.get(name, 0):
            masks[name] = place.row.mask | (masks.get(name, 0) if place.words == longest.get(name) else 0)
            longest[name] = place.words
    releases = {}
    for name in sorted({*masks, *pieces}):
        mask = masks.get(name) or pieces[name]
        package = open_record(name)
        if package is not None and mask:
            releases[name] = version_ranges(mask, package.lines)
    return releases


def source_address(package: str, function: str, version: str, line: int) -> str:
    """Return the address of a line of source at a release, or the empty string where the package's repository is not known."""
    known = _REPOSITORIES.get(package)
    module = function.partition(":")[0]
    if known is None or not module:
        return ""
    repository, tag, folder = known
    return f"https://github.com/{repository}/blob/{tag.format(version)}/{folder}{module.replace('.', '/')}.py" + (
        f"#L{line}" if line else ""
    )


_REPOSITORIES = {
    "torch": ("pytorch/pytorch", "v{}", ""),
    "torchvision": ("pytorch/vision", "v{}", ""),
    "torchaudio": ("pytorch/audio", "v{}", ""),
    "torchtext": ("pytorch/text", "v{}", ""),
    "transformers": ("huggingface/transformers", "v{}", "src/"),
    "huggingface-hub": ("huggingface/huggingface_hub", "v{}", "src/"),
    "datasets": ("huggingface/datasets", "{}", "src/"),
    "accelerate": ("huggingface/accelerate", "v{}", "src/"),
    "peft": ("huggingface/peft", "v{}", "src/"),
    "trl": ("huggingface/trl", "v{}", ""),
    "diffusers": ("huggingface/diffusers", "v{}", "src/"),
    "timm": ("huggingface/pytorch-image-models", "v{}", ""),
    "pytorch-lightning": ("Lightning-AI/pytorch-lightning", "{}", "src/"),
    "lightning": ("Lightning-AI/pytorch-lightning", "{}", "src/"),
    "torchmetrics": ("Lightning-AI/torchmetrics", "v{}", "src/"),
    "einops": ("arogozhnikov/einops", "v{}", ""),
    "torch-geometric": ("pyg-team/pytorch_geometric", "{}", ""),
    "numpy": ("numpy/numpy", "v{}", ""),
    "pandas": ("pandas-dev/pandas", "v{}", ""),
    "scipy": ("scipy/scipy", "v{}", ""),
    "scikit-learn": ("scikit-learn/scikit-learn", "{}", ""),
    "pillow": ("python-pillow/Pillow", "{}", "src/"),
    "deepspeed": ("deepspeedai/DeepSpeed", "v{}", ""),
}
"""Repository, tag and folder of the sources; packages that tag otherwise are left out."""


def _candidates(tokens: list[Token]) -> Iterator[tuple[PackageRecord, str]]:
    """Yield the messages that have an anchor in the tokens."""
    index = open_message_index()
    if index is None:
        return
    words = [token.text for token in tokens]
    seen: set[tuple[str, int]] = set()
    for size in range(MAX_RUN, 0, -1):
        for start in range(len(words) - size + 1):
            for package, number in index.messages(anchor_hash(words[start : start + size])):
                if (package, number) in seen:
                    continue
                seen.add((package, number))
                record = open_record(package)
                if record is not None:
                    yield record, record.message_line(number)
                if len(seen) >= _MAX_CANDIDATES:
                    return


class _Compiled(NamedTuple):
    """A template of the record, and the words that a message must have to match it."""

    pieces: tuple[str | Placeholder, ...]
    literals: frozenset[str]


def pieces_of(template: str) -> tuple[str | Placeholder, ...]:
    """Return the words and placeholders of a template without a type; none where it is no template."""
    compiled = _compiled(template)
    return compiled.pieces if compiled else ()


@lru_cache(maxsize=4096)
def _compiled(template: str) -> _Compiled | None:
    try:
        pieces = compile_template("x: " + with_slots(template)).pieces[1:]
    except TemplateError:
        return None
    return _Compiled(pieces, frozenset(piece for piece in pieces if isinstance(piece, str)))


_OPENERS = (":", "'", '"', "(", "`")
"""What stands before a message that another one quotes. Elsewhere the words of a message of Python code begin the paste's message."""


class _Place(NamedTuple):
    """A line of the record whose template a message matches. `words` counts the words of the message that are the template's own."""

    record: PackageRecord
    template: str
    type: str
    function: str
    row: MessageRow
    words: int

    @property
    def library(self) -> str:
        """The compiled library that has the text; empty for Python code."""
        return "" if self.function else self.row.condition


def _places(message: str) -> Iterator[_Place]:
    """Yield the lines of all packages whose template the message matches."""
    tokens = lex(message[:_MAX_CHARACTERS])[:_MAX_TOKENS]
    texts = {token.text for token in tokens}
    for record, line in _candidates(tokens):
        compiled = _compiled(line[: line.index("\t")])
        if compiled is None or not compiled.literals <= texts:
            continue
        words = sum(isinstance(piece, str) for piece in compiled.pieces)
        start = _start(compiled.pieces, tokens)
        alignment = align(compiled.pieces, tokens, start) if start is not None else None
        if alignment is None or not alignment.whole:
            continue
        if words >= _MIN_WORDS or alignment.end - (start or 0) == len(tokens):
            (template, type_, function), row = parse_message(line, len(record.versions))
            if not function or not start or message[: tokens[start].start].rstrip().endswith(_OPENERS):
                yield _Place(record, template, type_, function, row, words)


def _origin(place: _Place) -> MessageOrigin:
    record, row = place.record, place.row
    newest = record.versions[row.mask.bit_length() - 1]
    return MessageOrigin(
        record.package.name,
        place.template,
        place.type,
        place.function.replace(":", ".").rstrip("."),
        place.library,
        row.condition if place.function else "",
        record.ranges(row.mask),
        source_address(record.package.name, place.function, newest, row.line),
        place.words,
        row.mask,
    )


def _start(pieces: tuple[str | Placeholder, ...], tokens: list[Token]) -> int | None:
    """Return the token at which a template may begin: where its first word stands, or 0 if it begins with a placeholder."""
    first = pieces[0]
    if not isinstance(first, str):
        return 0
    second = pieces[1] if len(pieces) > 1 and isinstance(pieces[1], str) else None
    for number, token in enumerate(tokens):
        if token.text == first and (second is None or (number + 1 < len(tokens) and tokens[number + 1].text == second)):
            return number
    return None


_SAMPLES = {
    "int": "3", "num": "3.5", "shape": "[2, 3]", "dtype": "Float", "device": "cuda:0", "size": "20.00 MiB",
    "name": "xname", "names": "xname", "path": "/x/y.py", "version": "1.2.3", "text": "xname",
    "tensor": "unsqueeze", "module": "state_dict",
}  # fmt: skip


def sample_message(template: str) -> str:
    """Return a message that a wording of an entry matches, without the exception's type."""
    pieces = compile_template(template).pieces
    words = [
        piece if isinstance(piece, str) else piece.prefix + _SAMPLES[piece.type] + piece.suffix for piece in pieces
    ]
    return " ".join(words)
