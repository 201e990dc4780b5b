"""Messages that only report another error, and the errors inside them.

The sources are the libraries' own messages: PyTorch's data loader, launchers and compiler, Ray, Hydra, Lightning's and nnU-Net's
workers, vLLM, Ascend's adapter, Gradio and the runners of notebooks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kb.startup.lazy_regex import lazy_pattern
from kb.text.error_span import ErrorSpan

__all__ = ["embedded_errors", "is_interrupt", "is_wrapper", "reports_another"]

_REPORTS = (
    # PyTorch: launched processes, asynchronous kernels, the compiler
    *(
        "ChildFailedError",
        "ProcessRaisedException",
        "ProcessExitedException",
        "CUDA kernel errors might be asynchronously reported",
    ),
    *("TorchRuntimeError", "LoweringException"),
    # what torchrun prints of each process that ended, and ninja of a failed build
    *("traceback : Signal", "build stopped: subcommand failed"),
    # other launchers and pools
    *(
        "RayTaskError",
        "RemoteError",
        "CalledProcessError",
        "subprocess-exited-with-error",
        "queue.Empty",
        "Worker failed with error",
    ),
    # applications that catch the exception, and libraries that import their parts when they are asked for
    *(
        "because of the following error",
        "InstantiationException",
        "PapermillExecutionError",
        "CellExecutionError",
        "gradio.exceptions.Error",
    ),
    # pointers to another place in the output
    *(
        "root cause above",
        "trace for the root cause",
        "trace above for the root cause",
        "above for the actual error",
        "error is reported as above",
    ),
    "During handling",
)
_REPORT = lazy_pattern(
    r"Caught \S{1,100} in (?:DataLoader worker process|replica|pin memory thread)|\bexitcode ?:"
    r"|background worker\w{0,2} (?:is|are) (?:no longer alive|6 feet under)|\bAppError"
)
_BEGINNINGS = ("Caught ", "exitcode", "background worker", "AppError")
"""Words without which that pattern does not match."""
_MAX_MESSAGE = 2_000
"""Characters of a message that are searched for such words: on a line of many errors each message is as long as the rest of the line."""
_MAX_EMBEDDED = 20
_FAKE_TENSOR_CALL_START = "Failed running call_"
_FAKE_TENSOR_CALL = lazy_pattern(
    r"Failed running call_\w{1,20} [\s\S]{0,4000}?\*\*\{[^\n{}]{0,400}\}\):\s{1,4}(?P<message>\S[^\n]{0,1000})"
)
"""How `torch.compile` reports an error of the reader's code in PyTorch 2.1 to 2.5: without the type of the exception."""
_LAZY_IMPORT = lazy_pattern(
    r"Failed to import \S{1,200} because of the following error[^\n]{0,80}:\s{1,4}(?P<message>(?:No module named|cannot import name) \S[^\n]{0,1000})"
)
"""How transformers and diffusers report that a part of theirs cannot be imported: without the type of the exception, which these words tell."""


def is_wrapper(error: ErrorSpan) -> bool:
    """Whether the message only reports another error, or that someone stopped the program."""
    return (
        error.role == "wrapper"
        or is_interrupt(error)
        or reports_another(f"{error.type}: {error.message[:_MAX_MESSAGE]}")
    )


def reports_another(message: str) -> bool:
    """Whether a message, with its type, is one that reports another error."""
    if any(words in message for words in _REPORTS):
        return True
    return any(words in message for words in _BEGINNINGS) and bool(_REPORT.search(message))


def is_interrupt(error: ErrorSpan) -> bool:
    """Whether the program was stopped from outside, or by itself: there may be no error at all."""
    return "KeyboardInterrupt" in error.type or "SystemExit" in error.type


def embedded_errors(text: str) -> Iterator[ErrorSpan]:
    """Yield the messages inside others whose exception is not named. Named ones are read like any other exception."""
    reports = _LAZY_IMPORT.finditer(text) if "because of the following error" in text else iter(())
    for report in islice(reports, _MAX_EMBEDDED):
        name = "ModuleNotFoundError" if report["message"].startswith("No") else "ImportError"
        yield ErrorSpan(name, report["message"].strip(), report.start("message"), report.start("message"), "error")
    position = text.find(_FAKE_TENSOR_CALL_START)
    for _ in range(_MAX_EMBEDDED):
        if position < 0:
            return
        call = _FAKE_TENSOR_CALL.match(text, position)
        if call is not None:
            start = call.start("message")
            yield ErrorSpan("", call["message"].strip(), start, start, "error")
        position = text.find(_FAKE_TENSOR_CALL_START, position + 1)
