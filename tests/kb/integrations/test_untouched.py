"""A program that succeeds does the same with kb.install() as without: exit status, both outputs, and nothing more is loaded."""

# ruff: noqa: E501 - each program is one line

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[3]
TRACKER = re.compile(r".*resource_tracker\.py:\d+: UserWarning: resource_tracker: .*\n  warnings\.warn\(.*\n")
"""What Python prints now and then, on a busy machine, when spawned workers end: the semaphore is gone before its tracker hears of it. It does so without kb."""
INSTALL = "import kb; kb.install(warnings={0}, logging={0})"

PROGRAMS = {
    "nothing": "",
    "output": "print('out'); import sys; print('err', file=sys.stderr)",
    "no newline at the end": "import sys; sys.stdout.write('x'); sys.stderr.write('y')",
    "exit 0": "raise SystemExit",
    "exit 3": "raise SystemExit(3)",
    "exit with a text": "raise SystemExit('done')",
    "exit at once": "import os; os._exit(7)",
    "handled errors": "for n in range(3):\n    try: [][n]\n    except IndexError as error: print(repr(error))",
    "errors in a chain, handled": "try:\n    try: 1 / 0\n    except ZeroDivisionError as e: raise ValueError from e\nexcept ValueError as e: print(repr(e.__cause__))",
    "recursion, handled": "def f(): f()\ntry: f()\nexcept RecursionError: print('deep')",
    "memory, handled": "try: bytes(1 << 62)\nexcept MemoryError: print('too much')",
    "an exception whose text fails": "class E(Exception):\n    def __str__(self): return 1 / 0\ntry: raise E\nexcept E: print('caught')",
    "a traceback of its own": "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError: traceback.print_exc()",
    "exception group, handled": "try: raise ExceptionGroup('g', [ValueError(1)])\nexcept* ValueError as g: print(g.exceptions)",
    "assertion, handled": "try: assert 0, 'no'\nexcept AssertionError as e: print(e)",
    "hook of its own": "import sys\nsys.excepthook = lambda *a: print('mine')\nprint(sys.excepthook.__name__)",
    "hook called by the program": "import sys\ntry: 1 / 0\nexcept ZeroDivisionError: sys.__excepthook__(*sys.exc_info())",
    "hook saved and put back": "import sys\nold = sys.excepthook\nsys.excepthook = print\nsys.excepthook = old\nprint('ok')",
    "display hook": "import sys\nsys.displayhook(3)",
    "unraisable": "import sys\nsys.unraisablehook = lambda u: print('unraisable', u.exc_type.__name__)\nclass A:\n    def __del__(self): 1 / 0\na = A(); del a",
    "threads": "import threading\nts = [threading.Thread(target=print, args=('t',)) for _ in range(4)]\nfor t in ts: t.start(); t.join()",
    "a thread with a hook of its own": "import threading\nthreading.excepthook = lambda a: print('mine', a.exc_type.__name__)\nt = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()",
    "a thread that exits": "import threading\nt = threading.Thread(target=exit); t.start(); t.join(); print('on')",
    "daemon thread at the end": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start(); print('bye')",
    "thread pool": "from concurrent.futures import ThreadPoolExecutor as P\nwith P(2) as p:\n    f = p.submit(lambda: 1 / 0)\n    print(type(f.exception()).__name__, *p.map(abs, [-1, 2]))",
    "thread local": "import threading\nl = threading.local(); l.x = 1; print(l.x)",
    "timer": "import threading\nthreading.Timer(.01, print, ['late']).start()",
    "asyncio": "import asyncio\nasync def f(): await asyncio.sleep(0); return 2\nprint(asyncio.run(f()))",
    "asyncio with a failed task": "import asyncio\nasync def bad(): 1 / 0\nasync def f(): print(await asyncio.gather(bad(), return_exceptions=True))\nasyncio.run(f())",
    "fork": "import os\npid = os.fork()\nif pid == 0: os._exit(5)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    "spawned process": "import multiprocessing as m\ndef f(q): q.put(3)\nif __name__ == '__main__':\n    c = m.get_context('spawn'); q = c.Queue(); p = c.Process(target=f, args=(q,)); p.start(); print(q.get()); p.join()",
    "forked pool": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))",
    "subprocess": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(1); raise SystemExit(4)'], capture_output=True))",
    "signal handled": "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *a: print('usr1'))\nos.kill(os.getpid(), signal.SIGUSR1)",
    "signal handlers": "import signal\nprint(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))",
    "alarm": "import signal\nsignal.signal(signal.SIGALRM, lambda *a: print('alarm'))\nsignal.setitimer(signal.ITIMER_REAL, .01); signal.pause()",
    "interrupt, handled": "import os, signal, time\ntry:\n    os.kill(os.getpid(), signal.SIGINT); time.sleep(5)\nexcept KeyboardInterrupt: print('stopped')",
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "aborted": "import os; os.abort()",
    "fault handler": "import faulthandler; faulthandler.enable(); print(faulthandler.is_enabled())",
    "fault handler, later": "import faulthandler, sys\nfaulthandler.dump_traceback_later(60); faulthandler.cancel_dump_traceback_later(); print('ok')",
    "exit handlers": "import atexit\natexit.register(print, 'first'); atexit.register(print, 'second')",
    "exit handler that fails": "import atexit\n@atexit.register\ndef f(): raise SystemExit",
    "warnings": "import warnings; warnings.warn('mind the gap')",
    "warnings, twice": "import warnings\nfor _ in range(2): warnings.warn('mind the gap')",
    "warnings as errors": "import warnings; warnings.simplefilter('error')\ntry: warnings.warn('x')\nexcept UserWarning as w: print(repr(w))",
    "warnings recorded": "import warnings\nwith warnings.catch_warnings(record=True) as w: warnings.warn('x'); print(len(w))",
    "warnings with a hook": "import warnings\nwarnings.showwarning = lambda m, *a, **k: print('shown', m)\nwarnings.warn('x')",
    "deprecations": "import warnings; warnings.warn('old', DeprecationWarning)",
    "logging": "import logging; logging.basicConfig(format='%(levelname)s %(message)s'); logging.warning('w'); logging.info('i')",
    "logging without a handler": "import logging; logging.getLogger('a').warning('last resort')",
    "logged traceback": "import logging; logging.basicConfig()\ntry: 1 / 0\nexcept ZeroDivisionError: logging.exception('step failed')",
    "own formatter": "import logging\nclass F(logging.Formatter):\n    def formatException(self, e): return 'short'\nh = logging.StreamHandler(); h.setFormatter(F()); l = logging.getLogger(); l.addHandler(h)\ntry: 1 / 0\nexcept ZeroDivisionError: l.exception('x')",
    "captured warnings": "import logging, warnings; logging.basicConfig(); logging.captureWarnings(True); warnings.warn('x')",
    "standard error closed": "import sys; sys.stderr.close(); print('on')",
    "standard output closed": "import sys; sys.stdout.close()",
    "standard error replaced": "import io, sys\nsys.stderr = io.StringIO(); print('lost', file=sys.stderr); print(len(sys.stderr.getvalue()))",
    "contextlib": "import contextlib, io\nwith contextlib.redirect_stderr(io.StringIO()) as s: print('x', file=__import__('sys').stderr)\nprint(repr(s.getvalue()))",
    "trace function": "import sys\nn = []\nsys.settrace(lambda *a: n.append(1))\n(lambda: 1)()\nsys.settrace(None); print(len(n) > 0)",
    "profile function": "import sys\nprint(sys.getprofile(), sys.gettrace())",
    "recursion limit": "import sys; print(sys.getrecursionlimit())",
    "audit hook": "import sys; seen = []\nsys.addaudithook(lambda e, a: seen.append(e) if e == 'mine' else None); sys.audit('mine'); print(seen)",
    "finalizers": "import weakref\nclass A: pass\na = A(); weakref.finalize(a, print, 'gone'); del a",
    "garbage": "import gc; gc.collect(); print(gc.isenabled(), gc.get_threshold())",
    "generators closed": "def g():\n    try: yield 1\n    finally: print('closed')\nx = g(); next(x); x.close()",
    "module attributes": "import sys; print(sorted(n for n in dir(sys) if n.startswith('last_')))",
    "globals": "print(sorted(n for n in globals() if not n.startswith('__') and n != 'kb'))",
    "arguments": "import sys; print(sys.argv[1:], sys.flags.optimize, __name__)",
    "environment": "import os; print(sorted(k for k in os.environ if k.startswith('KB')))",
    "current folder": "import os; print(os.listdir('.'))",
    "open files": "import os; print(len(os.listdir('/proc/self/fd')))",
    "threads that run": "import threading; print(threading.active_count())",
    "code run from text": "exec(compile('x = 1', 'other.py', 'exec')); print(x)",
    "doctest": "import doctest\ndef f():\n    '''\n    >>> 1 + 1\n    2\n    '''\nprint(doctest.testmod())",
    "unittest": "import sys, unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\nr = unittest.TextTestRunner(stream=open('/dev/null', 'w')).run(unittest.defaultTestLoader.loadTestsFromTestCase(T)); print(r.testsRun)",
    "imports a package": "import json, decimal; print(json.dumps({'a': 1}), decimal.Decimal(1))",
    "missing module, handled": "try: import no_such_module_of_mine\nexcept ImportError as e: print(e.name)",
    "pickling": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "temporary files": "import tempfile\nwith tempfile.TemporaryFile() as f: f.write(b'x'); print(f.tell())",
    "sockets": "import socket\na, b = socket.socketpair(); a.send(b'x'); print(b.recv(1)); a.close(); b.close()",
    "forkserver process": "import multiprocessing as m\ndef f(q): q.put(3)\nif __name__ == '__main__':\n    c = m.get_context('forkserver'); q = c.Queue(); p = c.Process(target=f, args=(q,)); p.start(); print(q.get()); p.join()",
    "spawned pool": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('spawn').Pool(2) as p: print(p.map(abs, [-1, -2]))",
    "process pool with a failed task": "import math, multiprocessing as m\nfrom concurrent.futures import ProcessPoolExecutor as P\nif __name__ == '__main__':\n    with P(1, mp_context=m.get_context('spawn')) as p: print(repr(p.submit(math.sqrt, -1).exception()))",
    "a process that exits": "import multiprocessing as m, sys\nif __name__ == '__main__':\n    p = m.get_context('spawn').Process(target=sys.exit, args=(5,)); p.start(); p.join(); print(p.exitcode)",
    "a process that is killed": "import multiprocessing as m, time\nif __name__ == '__main__':\n    p = m.get_context('fork').Process(target=time.sleep, args=(60,)); p.start(); p.kill(); p.join(); print(p.exitcode)",
    "a manager": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('spawn').Manager() as g: d = g.dict(); d['a'] = 1; print(d.copy())",
    "shared memory": "from multiprocessing.shared_memory import SharedMemory as S\ns = S(create=True, size=8); s.buf[0] = 7; print(s.buf[0]); s.close(); s.unlink()",
    "a finder of its own": "import sys\nclass F:\n    def find_spec(self, name, path=None, target=None): print('asked for', name)\nsys.meta_path.insert(0, F())\ntry: import nowhere_to_be_found\nexcept ImportError: print('gone')",
    "a module loaded again": "import importlib, json; print(importlib.reload(json) is json)",
    "a module run by its name": "import runpy, sys; sys.argv = ['x', '-h']\ntry: runpy.run_module('calendar', run_name='__main__')\nexcept SystemExit as e: print(e.code)",
    "an exception whose text fails, printed": "import traceback\nclass E(Exception):\n    def __str__(self): return 1 / 0\ntry: raise E\nexcept E: traceback.print_exc()",
    "a deep recursion, printed": "import traceback\ndef f(): f()\ntry: f()\nexcept RecursionError: traceback.print_exc(limit=2)",
    "a chain of exceptions, logged": "import logging; logging.basicConfig()\ntry:\n    try: 1 / 0\n    except ZeroDivisionError as e: raise ValueError('no') from e\nexcept ValueError: logging.exception('step')",
    "a hook that calls the one before": "import sys\nold = sys.excepthook\nsys.excepthook = lambda *a: (print('mine'), old(*a))\nprint('ok')",
    "context variables": "import contextvars\nv = contextvars.ContextVar('v', default=1)\nc = contextvars.copy_context(); c.run(v.set, 2); print(v.get(), c[v])",
    "barrier of threads": "import threading\nb = threading.Barrier(2); t = threading.Thread(target=b.wait); t.start(); b.wait(); t.join(); print(b.broken)",
    "pipe": "import os\nr, w = os.pipe(); os.write(w, b'x'); print(os.read(r, 1))",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass A: x: int\nprint(A(1))",
}  # fmt: skip

WITH_TORCH = {
    "training": "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nm = nn.Linear(4, 1); o = torch.optim.SGD(m.parameters(), lr=.1)\nfor _ in range(3):\n    o.zero_grad(); l = m(torch.ones(2, 4)).pow(2).sum(); l.backward(); o.step()\nprint(round(l.item(), 5))",
    "a data loader": "import torch\nfrom torch.utils.data import DataLoader\nif __name__ == '__main__':\n    for start in ('fork', 'spawn'): print([b.tolist() for b in DataLoader(torch.arange(4), batch_size=2, num_workers=2, multiprocessing_context=start)])",
    "a file of weights": "import io, torch\nf = io.BytesIO(); torch.save({'w': torch.ones(2)}, f); f.seek(0); print(torch.load(f))",
    "an error, handled": "import torch\ntry: torch.ones(2, 3) @ torch.ones(2, 3)\nexcept RuntimeError as e: print(e)",
}  # fmt: skip
QUIET = """
import sys, threading
called = set()
def profile(frame, event, _):
    if event == "call" and "integrations" in frame.f_code.co_filename: called.add(frame.f_code.co_name)
sys.setprofile(profile); threading.setprofile(profile)
import decimal, logging, subprocess, warnings
thread = threading.Thread(target=print); thread.start(); thread.join()
warnings.warn("mind the gap")
logging.warning("and the step")
try: 1 / 0
except ZeroDivisionError: logging.exception("handled")
subprocess.run([sys.executable, "-c", ""])
sys.setprofile(None)
print(sorted(called))
"""


def run(folder, program):
    path = folder / "train.py"
    path.write_text(program)
    done = subprocess.run(
        [sys.executable, "train.py", "--epochs", "3"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, re.sub(r"0x[0-9a-f]+", "0x…", done.stderr)


def run_with_workers(folder, program):
    status, out, err = run(folder, program)
    return status, out, TRACKER.sub("", err)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_does_the_same_with_kb_as_without(tmp_path, program):
    plain = run(tmp_path, "\n" + program)
    assert run(tmp_path, f"{INSTALL.format(False)}\n{program}") == plain
    assert run(tmp_path, f"{INSTALL.format(True)}\n{program}") == plain


def test_every_program_runs_as_it_is_meant_to(tmp_path):
    """The fixtures themselves: only those that are meant to end otherwise have another status than 0."""
    meant = {"exit 3", "exit with a text", "exit at once", "terminated", "killed", "aborted", "standard output closed"}
    failed = {name for name in set(PROGRAMS) - meant if run(tmp_path, PROGRAMS[name])[0] != 0}
    assert not failed


@pytest.mark.torch
@pytest.mark.parametrize("program", WITH_TORCH.values(), ids=WITH_TORCH)
def test_a_program_with_torch_does_the_same_with_kb_as_without(tmp_path, program):
    pytest.importorskip("torch")
    plain = run_with_workers(tmp_path, "\n" + program)
    assert plain[0] == 0
    assert run_with_workers(tmp_path, f"{INSTALL.format(False)}\n{program}") == plain
    assert run_with_workers(tmp_path, f"{INSTALL.format(True)}\n{program}") == plain


def test_there_are_a_hundred_of_them():
    assert len(PROGRAMS) + len(WITH_TORCH) >= 100


def test_nothing_of_kb_runs_in_a_program_that_succeeds_but_a_look_at_what_it_imports(tmp_path):
    status, out, _ = run(tmp_path, f"{INSTALL.format(False)}\n{QUIET}")
    assert (status, out) == (0, "\n['find_spec']\n")
