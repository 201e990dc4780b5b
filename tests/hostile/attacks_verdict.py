"""Attacks on the verdict: exit status games, faked completion, output that is more than text."""

from __future__ import annotations

import signal

from attack import Attack, held, stopped

FORGED = (
    '{"event": "outcome", "id": 1, "ended": "exit", "exit_code": 0, "finished": true, "truncated": false,'
    ' "seconds": 0.1, "peak": 1, "clean": true}\\n'
)

ATTACKS: list[Attack] = [
    stopped(
        "os-exit",
        "leaves with os._exit(0) before its assert",
        "import os\nos._exit(0)\nassert False",
        "exit",
        exit_code=0,
    ),
    stopped(
        "sys-exit",
        "leaves with sys.exit(0) before its assert",
        "import sys\nsys.exit(0)\nassert False",
        "exit",
        exit_code=0,
    ),
    stopped(
        "execv",
        "becomes another program, which exits with 0",
        "import os\nos.execv('/bin/true', ['true'])\nassert False",
        "exit",
        exit_code=0,
    ),
    stopped(
        "fork-and-exit",
        "lets a child reach the end in its place",
        "import os\nif os.fork(): os._exit(0)",
        "exit",
        exit_code=0,
    ),
    stopped(
        "patched-assert",
        "replaces AssertionError and the hooks that report it",
        "import builtins, sys\n"
        "builtins.AssertionError = type('Quiet', (SystemExit,), {})\n"
        "sys.excepthook = lambda *_: None\n"
        "__debug__dict = {}\n"
        "assert 1 == 2",
        "exit",
        exit_code=1,
    ),
    stopped(
        "patched-harness",
        "patches everything that a harness might call after it",
        "import atexit, builtins, os, sys, threading, signal, json\n"
        "quiet = lambda *args, **kwargs: None\n"
        "leave = os._exit\n"
        "os._exit = lambda code: leave(0)\n"
        "sys.exit = threading._shutdown = atexit._run_exitfuncs = builtins.exec = builtins.compile = json.dumps = quiet\n"
        "sys.excepthook = sys.__excepthook__ = lambda *args: leave(0)\n"
        "raise RuntimeError('failed')",
        "exit",
        exit_code=0,
    ),
    stopped(
        "exit-hook",
        "fails, then exits with 0 in an exit handler",
        "import atexit, os\natexit.register(os._exit, 0)\nassert False",
        "exit",
        exit_code=0,
    ),
    stopped(
        "call-the-harness",
        "finds the harness on the stack and calls its completion",
        "import sys\n"
        "frame = sys._getframe()\n"
        "while frame.f_back: frame = frame.f_back\n"
        "frame.f_globals['_run'].finished()\n"
        "assert False",
        "exit",
        exit_code=0,
    ),
    stopped(
        "completion-from-a-thread",
        "calls the harness's completion from threads, exit handlers and finalizers",
        "import atexit, sys, threading, weakref, _thread\n"
        "finished = sys._getframe(1).f_globals['_run'].finished\n"
        "class Last: pass\n"
        "last = Last()\n"
        "weakref.finalize(last, finished)\n"
        "atexit.register(finished)\n"
        "_thread.start_new_thread(finished, ())\n"
        "threading.Thread(target=finished).start()\n"
        "sys.exit(0)",
        "exit",
    ),
    stopped(
        "write-descriptors",
        "writes completion records and outcomes to every descriptor it has",
        f"import os\nforged = b'{FORGED}'\n"
        "for descriptor in range(3, 1024):\n"
        "    for record in (forged, b'0' * 32, b'finished', b'1'):\n"
        "        try: os.write(descriptor, record)\n"
        "        except OSError: break\n"
        "os._exit(0)",
        "exit",
        exit_code=0,
    ),
    stopped(
        "write-result-channel",
        "writes an outcome into the worker's own result channel",
        f"import os\nforged = b'{FORGED}'\n"
        "for name in os.listdir('/proc'):\n"
        "    try: descriptors = os.listdir(f'/proc/{name}/fd') if name.isdigit() and int(name) != os.getpid() else ()\n"
        "    except OSError: continue\n"
        "    for descriptor in descriptors:\n"
        "        try: os.write(os.open(f'/proc/{name}/fd/{descriptor}', os.O_WRONLY | os.O_NONBLOCK), forged)\n"
        "        except OSError: pass\n"
        "os._exit(0)",
        "exit",
        "signal",
    ),
    stopped(
        "print-outcome",
        "prints an outcome as its output",
        f"import os\nos.write(1, b'{FORGED}')\nos.write(2, b'{FORGED}')\nos._exit(0)",
        "exit",
        exit_code=0,
    ),
    *(
        stopped(
            f"kill-itself-{number.name[3:].lower()}",
            f"kills itself with {number.name}",
            f"import os, signal\n"
            f"if {int(number)} not in (9, 19): signal.signal({int(number)}, signal.SIG_DFL)\n"
            f"os.kill(os.getpid(), {int(number)})\nimport time\ntime.sleep(30)",
            "signal",
            signal=int(number),
        )
        for number in (
            signal.SIGKILL,
            signal.SIGTERM,
            signal.SIGINT,
            signal.SIGHUP,
            signal.SIGQUIT,
            signal.SIGABRT,
            signal.SIGPIPE,
            signal.SIGXCPU,
            signal.SIGSYS,
            signal.SIGUSR1,
        )
    ),
    held(
        "terminal-output",
        "prints invalid UTF-8, NUL bytes, terminal escapes and CI commands",
        "import os\n"
        "os.write(1, b'\\xff\\xfe\\x00\\x1b]0;evil\\x07\\x1b[2J\\x1b[31mred\\x1b[0m\\r\\n')\n"
        "os.write(1, b'::error file=app.py,line=1::evil\\n##[command]evil\\n::set-output name=a::b\\n\\xe2\\x80\\xae')\n"
        "os.write(2, b'\\xc3')",
    ),
    held(
        "pickle-bomb",
        "prints a pickle that runs a command where it is loaded",
        "import os, pickle, sys\n"
        "class Bomb:\n"
        "    def __reduce__(self): return os.system, ('touch {bomb}',)\n"
        "sys.stdout.buffer.write(pickle.dumps(Bomb()))",
    ),
    held(
        "shadow-torch",
        "leaves modules that shadow torch and others for the next program",
        "import os, sys\n"
        "for folder in ('.', '/tmp', '/dev/shm'):\n"
        "    for name in ('torch', 'numpy', 'json', 'sitecustomize', 'usercustomize', 'evil'):\n"
        "        with open(f'{folder}/{name}.py', 'w') as file: file.write('raise SystemExit(0)')\n"
        "import torch\n"
        "torch.zeros = lambda *_: 'evil'\n"
        "sys.modules['evil'] = torch\n"
        "sys.path.insert(0, '/dev/shm')",
        preload=("torch",),
    ),
]
