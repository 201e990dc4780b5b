"""Pastes for tests: tracebacks made from the entries' own templates, and what terminals, loggers and people do to them."""

import html
import random
import re
import textwrap

from kb.templates.template import TemplateError, compile_template

SAMPLES = {
    "int": ["3", "17", "1024", "59"],
    "num": ["0.5", "1e-05", "42"],
    "shape": ["[2, 7]", "[16, 3, 28]", "[5]"],
    "dtype": ["Float", "Double", "Half"],
    "device": ["cuda:0", "cpu", "cuda:3"],
    "size": ["20.00 MiB", "1.25 GiB"],
    "name": ["encoder.weight", "Decoder", "my_layer"],
    "names": ['"a.weight", "b.bias"', '"encoder.0.weight"'],
    "path": ["/home/someone/work/thing.py", "model_last.pt"],
    "version": ["2.4.1", "1.13.0+cu117"],
    "tensor": ["unsqueeze", "detach", "cuda"],
    "module": ["state_dict", "eval", "parameters"],
    "text": ["something else", "what it was"],
}
_SLOT = re.compile(r"\{(?:[a-z][a-z0-9_]*:)?([a-z]+)\}")


def filled(template, chooser):
    """Return the message with every placeholder filled in."""
    return _SLOT.sub(lambda slot: chooser.choice(SAMPLES[slot.group(1)]), template)


def traceback_of(message, file="/home/someone/project/train.py", raised_in="torch/utils/_device.py"):
    """Return a traceback that ends in the message, through the reader's code and a library's, by default a file that no message is tied to."""
    return "\n".join(
        [
            "Traceback (most recent call last):",
            f'  File "{file}", line 42, in <module>',
            "    main(args)",
            f'  File "{file}", line 17, in main',
            "    out = step(batch)",
            f'  File "/opt/env/lib/python3.11/site-packages/{raised_in}", line 1773, in __torch_function__',
            "    return func(*args, **kwargs)",
            "           ^^^^^^^^^^^^^^^^^^^^^",
            message,
        ]
    )


def messages_of(corpus, least=4):
    """Yield (slug, template) for each message that begins with a type, has at least `least` words of its own, and says enough without a frame."""
    for entry in corpus:
        for message in entry.messages:
            try:
                compiled = compile_template(message.text)
            except TemplateError:
                continue
            is_error = compiled.type.endswith(("Error", "Exception")) and compiled.literals >= least
            if is_error and not message.files:
                yield entry.id, message.text


def _numbered(text, chooser):
    return re.sub(r"(?<=line )\d+", lambda _: str(chooser.randint(1, 4000)), text)


def _full_width(text, _):
    return text.translate({ord(":"): "：", ord("("): "（", ord(")"): "）", ord(","): "，", ord("!"): "！"})


def _interleaved(text, _):
    return "\n".join(f"[rank{rank}]: {line}" for line in text.split("\n") for rank in (0, 1))


def _smart(text, _):
    return re.sub(r"'([^'\n]*)'", "‘\\1’", re.sub(r'"([^"\n]*)"', "“\\1”", text))


def _cut(text, chooser):
    lines = text.split("\n")
    return "\n".join(lines[chooser.randrange(len(lines) - 1) :])


def _wrapped(text, _):
    return "\n".join(part for line in text.split("\n") for part in (textwrap.wrap(line, 80) or [""]))


def _hard_wrapped(text, _):
    return "\n".join(
        part for line in text.split("\n") for part in ([line[i : i + 80] for i in range(0, len(line), 80)] or [""])
    )


_WARNING_ABOVE = (
    "/home/someone/project/train.py:14: FutureWarning: `steps` is deprecated, name it `epochs`.\n  train(steps=3)\n"
)
_TORCHRUN_BELOW = """
E0304 05:06:07.890000 139 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: 1) local_rank: 0 (pid: 145) of binary: /usr/bin/python
Traceback (most recent call last):
  File "/usr/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-03-04_05:06:07
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 145)
  error_file: <N/A>
============================================================
"""

MUTATIONS = {
    "as it is": lambda text, _: text,
    "other line numbers": _numbered,
    "Windows paths": lambda text, _: text.replace("/home/someone/project/", "C:\\Users\\some one\\project\\"),
    "upper case": lambda text, _: text.upper(),
    "lower case": lambda text, _: text.lower(),
    "wrapped at words": _wrapped,
    "wrapped at column 80": _hard_wrapped,
    "ANSI colours": lambda text, _: re.sub(r"(?m)^(.*)$", "\x1b[0;31m\\1\x1b[0m", text),
    "ANSI without the escape": lambda text, _: re.sub(r"(?m)^(\S.*)$", "[31m\\1[0m", text),
    "time stamps": lambda text, _: re.sub(r"(?m)^", "2026-03-04 05:06:07,890 - ERROR - ", text),
    "logger's name": lambda text, _: re.sub(r"(?m)^", "2026-03-04 05:06:07,890 - train.loop - ERROR - ", text),
    "Hydra's log": lambda text, _: re.sub(r"(?m)^", "[2026-03-04 05:06:07,890][train.loop][ERROR] - ", text),
    "Docker Compose": lambda text, _: re.sub(r"(?m)^", "trainer-1  | ", text),
    "warning above": lambda text, _: _WARNING_ABOVE + text,
    "torchrun's summary below": lambda text, _: text + _TORCHRUN_BELOW,
    "rank prefix": lambda text, _: re.sub(r"(?m)^", "[rank1]: ", text),
    "two ranks": _interleaved,
    "doubled": lambda text, _: text + "\n\n" + text,
    "every line twice": lambda text, _: "\n".join(line for line in text.split("\n") for _ in (0, 1)),
    "cut before the error": _cut,
    "HTML": lambda text, _: "<pre>" + html.escape(text) + "</pre>",
    "full width": _full_width,
    "smart quotes": _smart,
    "Markdown fence": lambda text, _: "I get this error:\n\n```python\n" + text + "\n```\n\nWhat can I do?",
    "quoted": lambda text, _: re.sub(r"(?m)^", "> ", text),
    "Windows line ends": lambda text, _: text.replace("\n", "\r\n"),
    "tabs and spaces": lambda text, _: text.replace("    ", "\t") + "   \n\n",
    "in a box": lambda text, _: "\n".join(f"│ {line:<120} │" for line in text.split("\n")),
}


def chooser(*seed):
    """Return a random generator that is the same in every run."""
    return random.Random(repr(seed))
