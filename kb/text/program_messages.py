"""Read the messages that name no exception: signals and exit statuses, compilers, linkers and pip, and the drivers of devices.

The forms are those that shells, launchers, notebooks, editors, C libraries, build tools and PyTorch's device backends print.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.startup.lazy_regex import lazy_pattern
from kb.startup.named_tuple import NamedTuple
from kb.text.error_span import ErrorSpan, Role
from kb.text.lexer import lower
from kb.text.lines import lines_with

__all__ = ["SIGNALS", "message_spans"]

_SIGNAL_NAMES = {
    "Killed": ("killed", "已杀死", "被杀死", "getötet"),
    "Segmentation fault": ("segmentation fault", "段错误", "speicherzugriffsfehler"),
    "Bus error": ("bus error", "总线错误"),
    "Aborted": ("aborted", "abort trap", "abort", "已中止", "已放弃", "abgebrochen"),
    "Illegal instruction": ("illegal instruction", "illegal hardware instruction", "非法指令"),
    "Floating point exception": ("floating point exception", "浮点数例外"),
    "Terminated": ("terminated", "已终止"),
}
"""What shells print when a signal ended a program, in lower case, by its English name."""

SIGNALS = tuple(_SIGNAL_NAMES)
"""Types of the messages about a signal that ended the program. The type says all that such a message says."""

_TYPE_OF_NAME = {name: type_ for type_, names in _SIGNAL_NAMES.items() for name in names}
_SIGNAL = "|".join(sorted(_TYPE_OF_NAME, key=len, reverse=True))
_SIGNAL_ALONE = "|".join(sorted(map(str.capitalize, _TYPE_OF_NAME), key=len, reverse=True))
_INDENT = r"[ \t]{0,40}+"
_REST = r"[^\n]{0,600}"
_BAR = r"(?<=it/s\])|(?<=s/it\])"
"""The end of a progress bar, on whose line a shell goes on."""
_STATUS = r"[ \t]{0,3}[:=]?[ \t]{0,3}(?:-?[1-9]\d{0,10}|0x[0-9a-f]{8})(?!\d)(?:[ \t]{0,3}\([^()\n]{1,80}\))?"
"""An exit status other than 0, with its explanation."""


class _Form(NamedTuple):
    """A form of message, which is looked for in each line that has one of the cues, which are in lower case.

    The type is the group `type` of the pattern, or `type`. The message is the group `message`, or the whole match; if that
    group is empty, it is the next line.
    """

    cues: tuple[str, ...]
    type: str
    pattern: re.Pattern[str]
    role: Role


def _form(cues: str, type_: str, source: str, role: Role = "error") -> _Form:
    return _Form(tuple(cues.split("|")), type_, lazy_pattern(source, re.IGNORECASE | re.MULTILINE), role)


_FORMS = (
    # shells, and what they print of a job
    _form(
        "|".join(_TYPE_OF_NAME),
        "",
        rf"(?:^|{_BAR}){_INDENT}(?P<message>(?:(?:[\w./-]{{1,100}}+: line \d{{1,7}}:|zsh:|bash:|\[\d{{1,4}}\][ \t]{{0,4}}[-+]?)[ \t]{{1,9}}+"
        rf"(?:\d{{1,9}}[ \t]{{1,9}}+)?(?P<type>{_SIGNAL})(?!\w){_REST}"
        rf"|(?P<alone>(?-i:{_SIGNAL_ALONE}))(?:: \d{{1,2}})?(?:[ \t]{{0,9}}\([^()\n]{{1,30}}\))?\.?))[ \t]{{0,200}}$",
    ),
    _form("segmentation fault|bus error", "", rf"(?P<message>(?P<type>(?-i:Segmentation fault|Bus error)){_REST})"),
    # exit statuses, printed by launchers, editors and containers
    _form("process finished with", "exit code", rf"Process finished with exit code{_STATUS}", "wrapper"),
    _form("exits with return code", "exit code", rf"exits with return code{_STATUS}", "wrapper"),
    _form(
        "returned non-zero exit status|died with <signals",
        "exit code",
        rf"Command '[^\n]{{1,2000}}' (?:returned non-zero exit status{_STATUS}|died with <Signals\.\w{{1,20}}: \d{{1,3}}>)",
        "wrapper",
    ),
    _form("exitcode", "exit code", rf"^{_INDENT}exitcode[ \t]{{0,8}}{_STATUS}{_REST}", "wrapper"),
    _form(
        "code|status",
        "exit code",
        rf"^{_INDENT}(?:(?:(?:the |job |process |command |program |container |python )?(?:exited|terminated|returned|finished|failed) (?:with )?"
        rf"(?:non-zero )?)?(?:exit|return) ?|(?:process |command |program |container )exited with non-zero )(?:code|status){_STATUS}\.?[ \t]{{0,9}}$",
        "wrapper",
    ),
    _form(
        "kernel",
        "kernel died",
        rf"(?:The kernel (?:for [^\n]{{1,200}} )?appears to have died|The Kernel crashed while executing code|\bKernel died){_REST}",
    ),
    _form("挂掉", "kernel died", rf"(?:内核|服务)(?:似乎)?(?:已)?挂掉了?{_REST}"),
    # C++ and C libraries
    _form(
        "terminate called",
        "terminate",
        rf"terminate called (?:after throwing an instance of '(?P<type>[^'\n]{{1,200}})'|{_REST})",
    ),
    _form(
        "libc++abi",
        "libc++abi",
        rf"libc\+\+abi: terminating (?:due to|with) uncaught exception of type (?P<type>[\w:]{{1,120}}?)(?::\s(?P<message>{_REST}))?$",
    ),
    _form(
        "double free|free(): |malloc|realloc(): |munmap_chunk|corrupted ",
        "glibc",
        r"^(?:\*\*\* Error in `[^`'\n]{1,200}': )?"
        rf"(?P<message>(?:double free or|free\(\): |malloc(?:_consolidate)?\(\): |realloc\(\): |munmap_chunk\(\): |corrupted (?:size|double)){_REST})",
    ),
    # compilers, linkers, build tools, pip
    _form("cmake error", "CMake Error", rf"CMake Error(?: at [^\n]{{1,300}})?:[ \t]{{0,9}}(?P<message>{_REST})"),
    _form("ld: cannot find", "ld", rf"\bld: (?P<message>cannot find {_REST})"),
    _form("undefined reference to", "ld", rf"undefined reference to {_REST}"),
    _form("build stopped", "ninja", rf"ninja: (?P<message>build stopped: {_REST})", "wrapper"),
    _form("*** [", "make", rf"make(?:\[\d{{1,3}}\])?: \*\*\* (?P<message>\[{_REST})", "wrapper"),
    _form(
        "incompatible",
        "ERROR",
        r"[\w.-]{1,80} \d[\w.+!-]{0,60} (?:requires|has requirement) [^\n]{1,200}, but you(?: have|'ll have) [^\n]{1,120} which is incompatible\.?",
    ),
    _form(
        "undefined symbol",
        "undefined symbol",
        r"(?<!\S)(?:symbol lookup error: )?[^\s:]{1,300}: undefined symbol: \S{1,300}+(?:,? version \S{1,60}+)?",
    ),
    # drivers of devices
    _form("failed assertion", "Assertion", rf"failed assertion [`'\"]{_REST}"),
    _form("level_zero", "XPU error", rf"level_zero backend failed with error{_REST}"),
    _form("native api failed", "XPU error", rf"Native API failed{_REST}"),
    _form("ur error|ur backend failed", "XPU error", rf"\bUR (?:error|backend failed)\b{_REST}"),
    _form("aclnn", "NPU error", rf"(?:call )?\baclnn\w{{1,80}} failed{_REST}"),
    _form("error code", "NPU error", rf"\bacl(?:rt)?[ \w]{{1,80}}, ?(?:the )?error code{_REST}"),
    _form("rankid", "", rf"\(PID:[^()\n]{{1,80}}\) (?P<type>ERR\d{{5}})[ :]{{1,3}}(?P<message>{_REST})", "wrapper"),
    _form("[winerror", "OSError", rf"\[WinError \d{{1,5}}\]{_REST}"),
    # applications that catch the exception
    _form(
        "exception during processing",
        "Exception",
        rf"!!! Exception during processing ?!!!(?: (?P<message>\S{_REST}))?",
        "wrapper",
    ),
    _form(
        "background worker",
        "Exception",
        rf"Exception in background worker \d{{1,4}}:[ \t]{{0,3}}(?P<message>{_REST})",
        "wrapper",
    ),
    _form(
        "error executing job",
        "Error",
        rf"^{_INDENT}Error (?P<message>executing job with overrides: {_REST})",
        "wrapper",
    ),
    _form("error completing request", "Error", r"^(?:\*\*\* )?Error (?P<message>completing request)", "wrapper"),
)

_CANN_CODE = lazy_pattern(rf"E(?<!\SE)(?:[A-Z]\d|\d\d)\d{{3}}: ?(?=\S)(?P<message>{_REST})")
"""An error of Huawei's CANN, such as `EZ1001: …`. No form, because nearly every line has its first letter."""


def message_spans(text: str) -> Iterator[ErrorSpan]:
    """Yield the messages in the text that name no exception, in the order of their forms, with repetitions."""
    lowered = lower(text)
    for form in _FORMS:
        for start, end in lines_with(lowered, form.cues):
            match = form.pattern.search(text, start, end)
            if match is not None:
                yield _span(text, form, match)
    for match in _CANN_CODE.finditer(text):
        code, _, message = match.group().partition(":")
        yield ErrorSpan(code, message.strip(), match.start(), match.start("message"), "error")


def _span(text: str, form: _Form, match: re.Match[str]) -> ErrorSpan:
    groups = match.groupdict()
    start = match.start("message") if groups.get("message") else match.start()
    message = groups.get("message")
    if message == "":
        start = match.end() + 1
        message = text[start:].partition("\n")[0]
    type_ = groups.get("type") or groups.get("alone") or form.type
    return ErrorSpan(
        _TYPE_OF_NAME.get(type_.lower(), type_), (message or match.group()).strip(), match.start(), start, form.role
    )
