"""Attacks on the verdict: exit status games, faked completion, output that is more than text."""

from __future__ import annotations

import signal

from attack import Attack, held, stopped

from sandbox import Limits

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
        "finds the harness on the stack and calls all that it finds there",
        "import sys\n"
        "frame = sys._getframe()\n"
        "while frame.f_back: frame = frame.f_back\n"
        "run = frame.f_globals['_run']\n"
        "try: next(run.guard())\n"
        "except Exception as error: print(type(error))\n"
        "run.exited(SystemExit(0))\n"
        "assert False",
        "exit",
        exit_code=0,
    ),
    stopped(
        "nonce-through-frames",
        "walks all that frames lead to, and writes each text that could be the nonce as the record",
        "import os, sys\n"
        "seen, queue, frame = set(), [], sys._getframe()\n"
        "while frame: queue += [frame.f_locals, frame.f_globals]; frame = frame.f_back\n"
        "while queue and len(seen) < 200_000:\n"
        "    thing = queue.pop()\n"
        "    if id(thing) in seen: continue\n"
        "    seen.add(id(thing))\n"
        "    if isinstance(thing, (str, bytes)):\n"
        "        text = thing.encode('utf-8', 'replace') if isinstance(thing, str) else thing\n"
        "        if len(text) == 32 and set(text) <= set(b'0123456789abcdef'): os.write(900, text); os._exit(0)\n"
        "    elif isinstance(thing, dict): queue += [*thing.keys(), *thing.values()]\n"
        "    elif isinstance(thing, (list, tuple, set, frozenset)): queue += thing\n"
        "    else:\n"
        "        for name in ('__dict__', '__closure__', '__defaults__', '__kwdefaults__', '__func__', '__self__', '__globals__',\n"
        "                     'cell_contents', 'gi_frame', 'f_locals', '__wrapped__', 'args', 'func', '__code__', 'co_consts'):\n"
        "            try: queue.append(getattr(thing, name))\n"
        "            except Exception: pass\n"
        "os._exit(0)",
        "exit",
        exit_code=0,
    ),
    stopped(
        "patch-the-harness",
        "replaces what the harness calls after the program, by way of the frames beneath it",
        "import os, sys\n"
        "frame = sys._getframe()\n"
        "while frame.f_back: frame = frame.f_back\n"
        "run = frame.f_globals['_run']\n"
        "def steal(*args, **more):\n"
        "    frame = sys._getframe(1)\n"
        "    for text in frame.f_locals.values():\n"
        "        if isinstance(text, bytes) and len(text) == 32: os.write(900, text)\n"
        "    os._exit(0)\n"
        "scope = run.failed.__globals__\n"
        "for name in ('_leave', '_without_harness', 'REPORT_FD', 'os', 'sys', 'print'): scope[name] = steal\n"
        "type(run).failed = type(run).exited = type(run).guard = steal\n"
        "assert False",
        "exit",
    ),
    stopped(
        "completion-from-a-thread",
        "ends as the harness would from threads, exit handlers and finalizers",
        "import atexit, os, sys, threading, weakref, _thread\n"
        "run = sys._getframe(1).f_globals['_run']\n"
        "def finished(): next(run.guard())\n"
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
        "huge-record",
        "writes two gigabytes into the pipe of the record",
        "import os\nfor _ in range(2048): os.write(900, b'0' * (1 << 20))\nos._exit(0)",
        "exit",
        "time",
        limits=Limits(seconds=20),
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
