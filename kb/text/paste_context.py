"""Read what a paste shows besides its errors: versions, packages on the stack, devices, the system, and how the program ended.

The work is bounded, because only normalized text is read, in one pass for each kind of fact, and of each kind a bounded number is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple
from kb.text.error_span import ErrorSpan
from kb.text.frames import is_library, traceback_files
from kb.text.lexer import lower
from kb.text.lines import matches_in_lines
from kb.text.normalize import NormalizedText
from kb.text.program_messages import SIGNALS
from kb.text.software import BUILT_ON_PYTORCH, WORD, frameworks, names_pytorch
from kb.text.stated_versions import cuda_version, package_versions, python_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

__all__ = ["OWN_CODE", "Device", "PasteContext", "System", "package_stack", "read_context"]

Device: TypeAlias = "Literal['cuda', 'rocm', 'mps', 'xpu', 'npu']"
System: TypeAlias = "Literal['linux', 'macos', 'windows']"

OWN_CODE = ""
"""Stands for the reader's own code in place of a package."""


class PasteContext(NamedTuple):
    """Facts that a paste shows besides its errors.

    `versions` maps distributions in lower case (`torch`, `flash-attn`) to versions as printed. `python` and `cuda` are versions
    such as `3.10` and `12.1`, empty if unknown. `stack` are the packages on the stack of the root cause, outermost first, each
    run of frames once; `OWN_CODE` stands for the reader's code. `raised_by` is the package of the innermost frame, None if the
    paste shows no frame. `exit_codes` are as printed; `signals` are names such as `SIGKILL`, also those that an exit code
    stands for. `shows_pytorch` says that a frame, name or version belongs to PyTorch or to a package built on it.
    `other_frameworks` are the names of other frameworks in the text, in lower case.
    """

    versions: dict[str, str]
    python: str
    cuda: str
    system: System | None
    devices: tuple[Device, ...]
    stack: tuple[str, ...]
    raised_by: str | None
    exit_codes: tuple[int, ...]
    signals: tuple[str, ...]
    shows_pytorch: bool
    other_frameworks: tuple[str, ...]


_MAX_FACTS = 100
"""Maximum number of facts of each kind that are read."""

_DEVICE_NAMES: dict[str, Device] = {
    "cuda": "cuda",
    "nvidia": "cuda",
    "hip": "rocm",
    "rocm": "rocm",
    "amdgpu": "rocm",
    "mps": "mps",
    "xpu": "xpu",
    "level_zero": "xpu",
    "npu": "npu",
    "ascend": "npu",
    "cann": "npu",
}
_SYSTEM_CUES: dict[System, tuple[str, ...]] = {
    "windows": (":\\", "[winerror", "windows-1", "windows 1", "win_amd64"),
    "macos": ("/users/", "/opt/homebrew", "macos", "darwin", "metalperformanceshaders", "libc++abi"),
    "linux": (
        "/home/",
        "/root/",
        "/usr/lib",
        "/opt/conda",
        "linux",
        "ubuntu",
        "debian",
        "centos",
        ".so:",
        "/lib/python3.",
    ),
}
"""Paths and names of systems. Those of Windows and macOS come first, because Linux occurs in texts from everywhere."""

_PACKAGE = lazy_pattern(r"[\\/](?:site|dist)-packages[\\/](\w{1,80})")
_EXIT_CODE = lazy_pattern(
    r"(?:exit[ _]?(?:code|status)|exitcode|return ?code|exit(?:s|ed) with(?: return| exit)?(?: code| status)?|non-zero status)[ \t]{0,3}[:=]?[ \t]{0,3}"
    r"(?P<code>-?\d{1,10}|0x[0-9a-f]{8})(?!\w|\.\d)"
)
_SIGNAL_NAME = lazy_pattern(
    r"\bsig(kill|segv|abrt|bus|term|ill|fpe|int)\b|signal:? \(?(\d{1,2})\b|killed by signal: (\w{1,30})"
)
_SIGNAL_BY_TYPE = dict(
    zip(SIGNALS, ("SIGKILL", "SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGTERM"), strict=True)
)
_SIGNAL_BY_NUMBER = {
    2: "SIGINT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
}
_WINDOWS_STATUS = {0xC0000005: "SIGSEGV", 0xC00000FD: "SIGSEGV", 0xC0000409: "SIGABRT", 0xC000001D: "SIGILL"}
"""NTSTATUS codes with which Windows ends a program, and the signals that mean the same: access violation, stack overflow, abort, illegal instruction."""


def read_context(normalized: NormalizedText, errors: Sequence[ErrorSpan]) -> PasteContext:
    """Return what the text shows besides its errors, which `find_errors` returned."""
    text = normalized.text
    lowered = lower(text)
    versions = package_versions(lowered)
    python = versions.pop("python", "")
    cuda = versions.pop("cuda", "")
    stack = package_stack(text, errors)
    exit_codes = _exit_codes(lowered)
    distributions = {name.replace("-", "_") for name in versions}
    return PasteContext(
        versions=versions,
        python=python_version(lowered) or ".".join(python.split(".")[:2]),
        cuda=cuda_version(lowered) or ".".join(cuda.split(".")[:2]),
        system=next((system for system, cues in _SYSTEM_CUES.items() if any(cue in lowered for cue in cues)), None),
        devices=_devices(lowered),
        stack=stack,
        raised_by=stack[-1] if stack else None,
        exit_codes=exit_codes,
        signals=_signals(lowered, errors, exit_codes),
        shows_pytorch=names_pytorch(text) or not BUILT_ON_PYTORCH.isdisjoint(distributions.union(stack)),
        other_frameworks=_other_frameworks(lowered),
    )


def package_stack(text: str, errors: Sequence[ErrorSpan]) -> tuple[str, ...]:
    """Return the packages on the stack of the root cause, outermost first, each run of frames once; `OWN_CODE` stands for the reader's code."""
    cause = next((error for error in errors if error.role == "error"), errors[0] if errors else None)
    packages = _packages(traceback_files(text, cause))
    return tuple(name for index, name in enumerate(packages) if index == 0 or packages[index - 1] != name)


def _devices(lowered: str) -> tuple[Device, ...]:
    """Return the devices that are named, in the order of their first names."""
    positions = sorted((position, name) for name in _DEVICE_NAMES if (position := _find_word(lowered, name)) >= 0)
    return tuple(dict.fromkeys(_DEVICE_NAMES[name] for _, name in positions))


def _find_word(lowered: str, word: str) -> int:
    """Return the offset of the first occurrence of the word that is not part of a longer run of letters, or -1."""
    position = lowered.find(word)
    for _ in range(_MAX_FACTS):
        end = position + len(word)
        if position < 0 or not (lowered[position - 1 : position].isalpha() or lowered[end : end + 1].isalpha()):
            return position
        position = lowered.find(word, end)
    return -1


def _packages(files: Sequence[str]) -> list[str]:
    """Return the package of each frame. Frames of the standard library are left out, because they act for their callers."""
    packages = []
    for file in files:
        installed = _PACKAGE.search(file)
        if installed or not is_library(file):
            packages.append(installed[1] if installed else OWN_CODE)
    return packages


def _exit_codes(lowered: str) -> tuple[int, ...]:
    codes = [
        int(match["code"], 0 if "x" in match["code"] else 10)
        for match in matches_in_lines(_EXIT_CODE, lowered, "exit", "return code", "returncode", "non-zero status")
    ]
    return tuple(dict.fromkeys(code for code in codes if code))


def _signals(lowered: str, errors: Sequence[ErrorSpan], exit_codes: Sequence[int]) -> tuple[str, ...]:
    """Return the signals that are named, or that messages or exit codes stand for, each once."""
    signals = [_SIGNAL_BY_TYPE[error.type] for error in errors if error.type in _SIGNAL_BY_TYPE]
    for match in matches_in_lines(_SIGNAL_NAME, lowered, "sig"):
        name, number, words = match.groups()
        if name:
            signals.append(f"SIG{name.upper()}")
        elif number:
            signals.append(_SIGNAL_BY_NUMBER.get(int(number), ""))
        else:
            signals += [signal for type_, signal in _SIGNAL_BY_TYPE.items() if type_.lower().startswith(words)]
    signals += [_signal_of_code(code) for code in exit_codes]
    return tuple(dict.fromkeys(filter(None, signals)))


def _signal_of_code(code: int) -> str:
    """Return the signal that an exit status stands for: negative as Python reports it, 128 + n as shells do, modulo 256, or a status of Windows."""
    if code & 0xFFFFFFFF in _WINDOWS_STATUS:
        return _WINDOWS_STATUS[code & 0xFFFFFFFF]
    number = -code if -64 < code < 0 else code - 128 if 128 < code < 160 else 256 - code if 192 < code < 256 else 0
    return _SIGNAL_BY_NUMBER.get(number, "")


def _other_frameworks(lowered: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in WORD.findall(lowered) if word in frameworks()))[:_MAX_FACTS]
