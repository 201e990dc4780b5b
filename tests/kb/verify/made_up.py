"""Programs of the good entry, and outcomes that are made up, so that the judge can be tested without running anything."""

from sandbox import Frame, Outcome, Raised

MESSAGE = "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"
REPRO = "import torch\n\ntotal = torch.ones(3) + torch.ones(4)\n"
FIX = "import torch\n\ntotal = torch.ones(4) + torch.ones(4)\nassert total.shape == (4,)\n"
SILENT_REPRO = "import torch\n\ntotal = torch.ones(3)\nassert total.shape == (4,)\n"


def own(line, function="<module>"):
    """Return a frame of the program."""
    return Frame("program", "", line, function)


def library(module="torch.nn.modules.linear", line=7):
    """Return a frame of a library."""
    return Frame("library", module, line, "forward")


def raised(type_="RuntimeError", message=MESSAGE, frames=None, causes=()):
    """Return an exception that ended a program."""
    return Raised(type_, message, (own(3),) if frames is None else tuple(frames), tuple(causes))


def failed(error=None, stderr=None, exit_code=1, **more):
    """Return the outcome of a program that an exception ended, with the traceback that Python prints for it."""
    error = raised() if error is None else error
    printed = f'Traceback (most recent call last):\n  File "/tmp/run/program.py", line 3, in <module>\n{error.type}: {error.message}\n'
    return Outcome(
        "program", "exit", exit_code=exit_code, raised=error, stderr=printed if stderr is None else stderr, **more
    )


def finished(stderr="", **more):
    """Return the outcome of a program that ran through."""
    return Outcome("program", "exit", exit_code=0, finished=True, stderr=stderr, **more)
