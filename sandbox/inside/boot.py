"""The first code of every interpreter in the sandbox, given to `python -c`; `argv[1]` is the descriptor to read from.

It loads the other modules of this package from that descriptor. In a worker `main` serves requests for ever; in a process that is to run a program
`main` returns, and the program runs here, with this one frame beneath it. The `for` statement keeps its iterator on this frame's value stack, where
no Python code can read it: see `sandbox.inside.program`.
"""

import json
import os
import sys
import types

_pipe = os.fdopen(int(sys.argv[1]), "rb")
for _name, _source in json.loads(_pipe.readline()):
    _module = sys.modules[_name] = types.ModuleType(_name)
    _module.__dict__.update(__path__=[], __file__=f"<{_name}>")
    exec(compile(_source, f"<{_name}>", "exec"), _module.__dict__)
_run = sys.modules["sandbox.inside.worker"].main(_pipe)
try:
    for _program in _run.guard():
        exec(*_program)
except SystemExit as _exit:
    _run.exited(_exit)
except BaseException as _error:
    _run.failed(_error)
